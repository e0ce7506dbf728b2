import { INVALID_BANK_CODE_MESSAGE } from '../domain/account-check-request.ts';

/**
 * Every error of the public API and its HTTP status (docs/contract.md 7.1; docs/api.md for the other operations).
 * A code that has no HTTP status here does not compile.
 */
const HTTP_STATUSES = {
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  RATE_LIMIT_EXCEEDED: 429,
  TRANSACTION_NOT_FOUND: 404,
  INVALID_TRANSACTION_ID: 400,
  INVALID_BANK_CODE: 400,
  UNSUPPORTED_BANK: 422,
  INVALID_FORMAT: 400,
  INVALID_REQUEST: 400,
  ENDPOINT_NOT_FOUND: 404,
  DELIVERY_NOT_FOUND: 404,
  VALIDATION_NOT_FOUND: 404,
  VALIDATION_LIMIT_REACHED: 409,
  IDEMPOTENCY_KEY_REUSED: 422,
  ENDPOINT_LIMIT_REACHED: 409,
  ENDPOINT_DISABLED: 409,
  SERVICE_UNAVAILABLE: 503,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  REQUEST_TIMEOUT: 408,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof HTTP_STATUSES;

export const ERROR_CODES = Object.keys(HTTP_STATUSES) as readonly ErrorCode[];

export const httpStatusOf = (code: ErrorCode): number => HTTP_STATUSES[code];

/** The message for the caller where the code that fails has none more exact. Each says what to do next. */
const MESSAGES: Record<ErrorCode, string> = {
  UNAUTHORIZED: 'Invalid or expired token: obtain a new access token and repeat the request',
  FORBIDDEN: 'The access token lacks the scope for this operation',
  RATE_LIMIT_EXCEEDED: 'Too many requests: wait for the number of seconds in Retry-After',
  TRANSACTION_NOT_FOUND: 'Transaction not found',
  INVALID_TRANSACTION_ID: 'Invalid transaction ID format',
  INVALID_BANK_CODE: INVALID_BANK_CODE_MESSAGE,
  UNSUPPORTED_BANK: 'Unsupported bank: GET /api/v1/banks lists the banks with check_account true',
  INVALID_FORMAT: 'Invalid format',
  INVALID_REQUEST: 'Invalid request',
  ENDPOINT_NOT_FOUND: 'Callback endpoint not found',
  DELIVERY_NOT_FOUND: 'Callback delivery not found',
  VALIDATION_NOT_FOUND: 'Account validation not found',
  VALIDATION_LIMIT_REACHED: 'Too many account validations are running: wait for one to end, or cancel one',
  IDEMPOTENCY_KEY_REUSED:
    'This Idempotency-Key was already used with a different request: use another key for another request',
  ENDPOINT_LIMIT_REACHED: 'No more callback endpoints can be registered: change an existing one',
  ENDPOINT_DISABLED: 'The callback endpoint is disabled: enable it first, with {"disabled":false}',
  SERVICE_UNAVAILABLE: 'Temporarily unavailable: repeat the request after the number of seconds in Retry-After',
  NOT_FOUND: 'No such route',
  METHOD_NOT_ALLOWED: 'Method not allowed: use one of those in Allow',
  NOT_ACCEPTABLE: 'Not acceptable: responses are application/json, so Accept must allow it',
  REQUEST_TIMEOUT: 'The request did not arrive in time: send it again without pausing',
  PAYLOAD_TOO_LARGE: 'The request body is too large',
  UNSUPPORTED_MEDIA_TYPE: 'Unsupported media type: send Content-Type: application/json, uncompressed',
  HEADERS_TOO_LARGE: 'The request headers are too large: send at most 16 KiB of them',
  INTERNAL_ERROR: 'An internal error occurred: quote the X-Request-Id of this response when you report it',
};

interface ErrorDetails {
  /** For the caller. */
  readonly message?: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log; never sent. */
  readonly cause?: unknown;
}

/** An error answer: an HTTP status, a stable code, a message for the caller, and a cause for the log. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, { message = MESSAGES[code], headers = {}, cause }: ErrorDetails = {}) {
    super(message, { cause });
    this.code = code;
    this.statusCode = HTTP_STATUSES[code];
    this.headers = headers;
  }
}

/** The bank or the database cannot answer now. A request after `retryAfterMs` may succeed. */
export const unavailable = (message: string, retryAfterMs: number, cause?: unknown): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', { message, headers: retryAfterHeader(retryAfterMs), cause });

/** The caller has used up a limit. A request after `retryAfterMs` is admitted. */
export const tooManyRequests = (retryAfterMs: number, message = MESSAGES.RATE_LIMIT_EXCEEDED): ApiError =>
  new ApiError('RATE_LIMIT_EXCEEDED', { message, headers: retryAfterHeader(retryAfterMs) });

/**
 * In whole seconds, rounded up, so that a client does not retry too early. Never 0, which many clients take for now.
 */
export const retryAfterHeader = (ms: number) => ({ 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) });

/** Returns a function that returns its argument. @throws ApiError with this code when the argument is null */
export const foundOr =
  (code: ErrorCode) =>
  <T>(value: T | null): T => {
    if (value === null) throw new ApiError(code);
    return value;
  };
