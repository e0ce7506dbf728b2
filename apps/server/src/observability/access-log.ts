import { createIsoClock } from '../lib/iso-clock.ts';

/** One answered request. Anything that could identify a person or an account is masked before it reaches this log. */
export interface AccessEntry {
  readonly listener: string;
  readonly requestId: string;
  readonly method: string;
  /** The route's pattern, never the requested path: a path can contain IDs. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly clientId: string | undefined;
  readonly errorCode: string | null;
  /** Further log fields of the request. */
  readonly fields: Readonly<Record<string, unknown>> | null;
}

export type AccessLog = (entry: AccessEntry) => void;

const INFO = 30;

/**
 * One line per request, in the format of all other log lines. The line is built by hand, because it is on the path of
 * every request: a general logger would cost a third of the time that a bare HTTP server needs for the whole request.
 */
export function createAccessLog(writeLine: (line: string) => void): AccessLog {
  const now = createIsoClock();
  // There are few routes and clients, so their JSON text is cached.
  const quote = cached((text: string) => JSON.stringify(text));
  return ({ listener, requestId, method, route, status, durationMs, clientId, errorCode, fields }) => {
    let line =
      `{"level":${INFO},"time":"${now()}","listener":"${listener}","requestId":"${requestId}","method":"${method}"` +
      `,"route":${quote(route)},"status":${status},"durationMs":${Math.round(durationMs * 1000) / 1000}`;
    if (clientId !== undefined) line += `,"clientId":${quote(clientId)}`;
    if (errorCode !== null) line += `,"errorCode":"${errorCode}"`;
    const members = fields === null ? '' : JSON.stringify(fields).slice(1, -1);
    if (members !== '') line += `,${members}`;
    writeLine(`${line}}\n`);
  };
}

const CACHED_MAX = 10_000;

function cached(compute: (text: string) => string): (text: string) => string {
  const results = new Map<string, string>();
  return (text) => {
    let result = results.get(text);
    if (result === undefined) {
      result = compute(text);
      if (results.size < CACHED_MAX) results.set(text, result);
    }
    return result;
  };
}
