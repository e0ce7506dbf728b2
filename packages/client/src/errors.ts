import { ERROR_CODES, type Transaction } from './generated/api.ts';

/** Why a call failed although the service has not answered with an error code. */
const CLIENT_CODES = [
  /** The time for the whole call is over: waiting, connecting, headers, body and repetitions count. */
  'TIMEOUT',
  /** No connection, or it broke. `cause` says why. */
  'CONNECTION_FAILED',
  /** What came is not an answer of the service: a proxy's page, or an `error_code` of a newer service. */
  'UNEXPECTED_ANSWER',
  /** The login was refused: client ID, secret or scope are wrong. */
  'LOGIN_FAILED',
  /** `waitForFinal` ended, and the transaction is still in PROCESS. This does not mean that it failed. */
  'STILL_IN_PROCESS',
  /** Events are missing between the cursor and the next event. */
  'EVENTS_GAP',
  /** The service does not know the cursor's event: it was restored to an earlier state. */
  'EVENTS_RESTORED',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number] | (typeof CLIENT_CODES)[number];

/** Codes that always say how long to wait. */
type RetryLaterCode = 'RATE_LIMIT_EXCEEDED' | 'SERVICE_UNAVAILABLE';

/** What one code carries. The message says what is wrong and what to do next, for people. */
export interface TibaErrorOf<Code extends ErrorCode> extends Error {
  readonly name: 'TibaError';
  readonly error_code: Code;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** When to try again, in milliseconds; null when nothing says so. */
  readonly retryAfterMs: Code extends RetryLaterCode ? number : number | null;
  /** `X-Request-Id`: quote it when you ask the operator. */
  readonly requestId: string | null;
  /** The operation, by its name in openapi.json. */
  readonly operation: string;
  /** The last state that was read, with `STILL_IN_PROCESS`. */
  readonly transaction: Code extends 'STILL_IN_PROCESS' ? Transaction : null;
}

/** Every failure of a call, told apart by `error_code`: a code that does not exist does not compile in a switch. */
export type TibaError = { [Code in ErrorCode]: TibaErrorOf<Code> }[ErrorCode];

export interface TibaErrorDetails {
  readonly error_code: ErrorCode;
  readonly message: string;
  readonly operation: string;
  readonly status?: number | null;
  readonly retryAfterMs?: number | null;
  readonly requestId?: string | null;
  readonly transaction?: Transaction | null;
  readonly cause?: unknown;
}

class TibaFailure extends Error {
  override readonly name = 'TibaError';
  readonly error_code: ErrorCode;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly requestId: string | null;
  readonly operation: string;
  readonly transaction: Transaction | null;

  constructor(details: TibaErrorDetails) {
    const { error_code: code, message, cause } = details;
    super(`${code}: ${message}`, cause === undefined ? undefined : { cause });
    this.error_code = code;
    this.operation = details.operation;
    this.status = details.status ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.requestId = details.requestId ?? null;
    this.transaction = details.transaction ?? null;
  }
}

/** `error instanceof TibaError` narrows to the union, so that `switch (error.error_code)` is checked. */
export const TibaError: {
  new (details: TibaErrorDetails): TibaError;
  [Symbol.hasInstance](value: unknown): value is TibaError;
} = TibaFailure as never;

export const isKnownCode = (code: unknown): code is (typeof ERROR_CODES)[number] =>
  (ERROR_CODES as readonly unknown[]).includes(code);
