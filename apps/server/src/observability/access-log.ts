import { createIsoClock } from '../lib/iso-clock.ts';

/** One answered request. Whatever could name a person or an account is masked before it comes here. */
export interface AccessEntry {
  readonly listener: string;
  readonly requestId: string;
  readonly method: string;
  /** The route's pattern, never what was asked for. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly clientId: string | undefined;
  readonly errorCode: string | null;
  readonly fields: Readonly<Record<string, unknown>> | null;
}

export type AccessLog = (access: AccessEntry) => void;

const INFO = 30;

/**
 * One line per request, in the form of all other lines. It is put together by hand: there is one for every request, and
 * a general logger costs a third of what a bare HTTP server does for the whole of it.
 */
export function createAccessLog(writeLine: (line: string) => void): AccessLog {
  const now = createIsoClock();
  // Routes and clients are few, and the same text each time.
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

function cached(make: (text: string) => string): (text: string) => string {
  const made = new Map<string, string>();
  return (text) => {
    let result = made.get(text);
    if (result === undefined) {
      result = make(text);
      if (made.size < CACHED_MAX) made.set(text, result);
    }
    return result;
  };
}
