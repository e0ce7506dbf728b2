import type { Canaries } from './canaries.ts';
import type { CampaignRecord } from './record.ts';

export interface RawAnswer {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface AnswerJudge {
  readonly record: CampaignRecord;
  readonly canaries: Canaries;
}

/** Documents that other standards define (docs/contract.md 2.1), and the operator's health endpoints. */
const NOT_ENVELOPED = /^\/(?:oauth|openapi|reference|\.well-known|livez|readyz|metrics)\b/;
/** How the bodies of such documents begin, where the request is not known. */
const OTHER_BODIES = /^\{"(?:error|status|openapi|keys|issuer|access_token)"/;
const READINESS = /^\{"status":"unavailable"/;
const UNAVAILABLE = 503;
const ERRORS_FROM = 400;

/**
 * Judges any answer to any request: no 5xx but the documented 503, everything in the envelope, no canary in an error.
 * `request` names it in a finding. `target` is null where the answer may be to any request.
 */
export function judgeAnswer(
  { status, headers, text }: RawAnswer,
  request: string,
  target: string | null,
  { record, canaries }: AnswerJudge,
): void {
  const details = `${status} to ${request}: ${text.slice(0, 300)}`;
  if (status >= 500) {
    record.count(`answers ${status} ${errorCodeOf(text)}`);
    if (status !== UNAVAILABLE) record.wrong('an answer is a 5xx that is not documented', details);
    else if (!READINESS.test(text) && !/^[1-9]\d*$/.test(String(headers['retry-after'])))
      record.wrong('a 503 has no Retry-After', details);
  }
  if (status >= ERRORS_FROM) {
    const canary = canaries.find(text);
    if (canary !== null) record.wrong('an error holds a number, name or secret', `${canary} in ${details}`);
  }
  const isJson = String(headers['content-type']).startsWith('application/json');
  if (text === '' || (!isJson && status < ERRORS_FROM)) return;
  if (target === null ? OTHER_BODIES.test(text) : NOT_ENVELOPED.test(target)) return;
  if (!isEnvelope(text, status)) record.wrong('an answer is not in the envelope', details);
}

const SUCCESS_FIELDS = 'success,message,data,meta';
const ERROR_FIELDS = 'success,message,error_code';

function isEnvelope(text: string, status: number): boolean {
  try {
    const fields = Object.keys(JSON.parse(text) as object).join();
    return fields === (status < ERRORS_FROM ? SUCCESS_FIELDS : ERROR_FIELDS);
  } catch {
    return false;
  }
}

const errorCodeOf = (text: string): string => /"error_code":"(\w+)"/.exec(text)?.[1] ?? '';
