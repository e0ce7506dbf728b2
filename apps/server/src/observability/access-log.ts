import { createIsoClock } from '../lib/iso-clock.ts';
import { REFUSALS } from './refusals.ts';

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
 * One line per request, in the format of all other log lines. Of requests that no rate limit bounds it writes a
 * sample, with the number of those left out (`suppressed`); the metrics count all of them. The line is built by hand,
 * because it is on the path of every request: a general logger would cost a third of the time that a bare HTTP server
 * needs for the whole request. `process`, where several processes share a log, is in each line.
 */
export function createAccessLog(
  writeLine: (line: string) => void,
  clock: () => number = () => performance.now(),
  process?: number,
): AccessLog {
  const lineEnd = process === undefined ? '}\n' : `,"process":${process}}\n`;
  const now = createIsoClock();
  // There are few routes and clients, so their JSON text is cached.
  const quote = cached((text: string) => JSON.stringify(text));
  const sample = createSampling(clock);
  return (entry) => {
    const { listener, requestId, method, route, status, durationMs, clientId, errorCode, fields } = entry;
    const suppressed = isUnbounded(entry) ? sample(`${listener} ${status} ${clientId ?? ''}`) : 0;
    if (suppressed === null) return;
    let line =
      `{"level":${INFO},"time":"${now()}","listener":"${listener}","requestId":"${requestId}","method":"${method}"` +
      `,"route":${quote(route)},"status":${status},"durationMs":${Math.round(durationMs * 1000) / 1000}`;
    if (clientId !== undefined) line += `,"clientId":${quote(clientId)}`;
    if (errorCode !== null) line += `,"errorCode":"${errorCode}"`;
    if (suppressed > 0) line += `,"suppressed":${suppressed}`;
    const members = fields === null ? '' : JSON.stringify(fields).slice(1, -1);
    if (members !== '') line += `,${members}`;
    writeLine(line + lineEnd);
  };
}

/**
 * Whether a client may send such requests without limit. Their lines would fill the disk. The operator listener has no
 * rate limits; there, each feed that was stored has its line, because it changes something.
 */
const isUnbounded = ({ clientId, errorCode, listener, method }: AccessEntry): boolean =>
  clientId === undefined ||
  (errorCode !== null && REFUSALS.has(errorCode)) ||
  (listener === 'operator' && (method === 'GET' || errorCode !== null));

/** Lines of one kind (listener, status and client) that are written in a second. The others are counted. */
const SAMPLED_PER_SECOND = 20;
const SAMPLED_KINDS_MAX = 1_000;

/** Returns null for a line not to write, otherwise how many lines of its kind were not written before it. */
function createSampling(clock: () => number): (kind: string) => number | null {
  const kinds = new Map<string, { second: number; written: number; suppressed: number }>();
  return (kind) => {
    const second = Math.floor(clock() / 1000);
    let sampled = kinds.get(kind);
    if (sampled === undefined) {
      // Few kinds exist at a time, so that forgetting them all loses a few counts.
      if (kinds.size >= SAMPLED_KINDS_MAX) kinds.clear();
      sampled = { second, written: 0, suppressed: 0 };
      kinds.set(kind, sampled);
    }
    if (sampled.second !== second) {
      sampled.second = second;
      sampled.written = 0;
    }
    if (sampled.written >= SAMPLED_PER_SECOND) {
      sampled.suppressed += 1;
      return null;
    }
    sampled.written += 1;
    const { suppressed } = sampled;
    sampled.suppressed = 0;
    return suppressed;
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
