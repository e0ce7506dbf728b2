import assert from 'node:assert/strict';
import type { Answer } from '../support/requests.ts';

/**
 * The errors of docs/contract.md 7.1 and docs/api.md, written down a second time: the tests must not take them from the
 * code that they test.
 */
export const HTTP_STATUSES = {
  UNAUTHORIZED: 401,
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
  PROPOSAL_CONFLICT: 409,
  CLIENT_CONFLICT: 409,
  CURSOR_GONE: 410,
  SERVICE_UNAVAILABLE: 503,
  RATE_LIMIT_EXCEEDED: 429,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  REQUEST_TIMEOUT: 408,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
} as const;
export type ErrorCode = keyof typeof HTTP_STATUSES;

/** What the messages must contain (docs/contract.md 7.1). */
const MESSAGES: Partial<Record<ErrorCode, RegExp>> = {
  UNAUTHORIZED: /invalid or expired token/i,
  TRANSACTION_NOT_FOUND: /transaction not found/i,
  INVALID_TRANSACTION_ID: /invalid transaction id format/i,
  INVALID_BANK_CODE: /invalid bank code/i,
  UNSUPPORTED_BANK: /unsupported bank/i,
  SERVICE_UNAVAILABLE: /repeat the request/i,
};

/** 2026-11-21T04:32:26.123Z */
export const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const WHOLE_SECONDS = /^[1-9]\d*$/;

/** The headers of every JSON answer of the public API (docs/contract.md 2.1). */
function assertEnvelopeHeaders({ headers }: Answer): void {
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('content-language'), 'en');
  assert.match(headers.get('x-request-id') ?? '', /^[\w-]{10,}$/);
}

/** Asserts that the answer is this error: status, headers, message, and an envelope with exactly the three fields. */
export function assertError(answer: Answer, code: ErrorCode, message?: RegExp): void {
  assert.equal(answer.json.error_code, code, `${answer.status} ${answer.text}`);
  assert.equal(answer.status, HTTP_STATUSES[code]);
  assertEnvelopeHeaders(answer);
  assert.deepEqual(Object.keys(answer.json), ['success', 'message', 'error_code']);
  assert.equal(answer.json.success, false);
  assert.match(answer.json.message, message ?? MESSAGES[code] ?? /\w/);
  assert.equal(answer.headers.has('www-authenticate'), code === 'UNAUTHORIZED' || code === 'FORBIDDEN');
  assert.equal(answer.headers.has('allow'), code === 'METHOD_NOT_ALLOWED');
  if (code === 'SERVICE_UNAVAILABLE') assert.match(answer.json.message, /^Temporarily unavailable: /);
  if (code === 'SERVICE_UNAVAILABLE' || code === 'RATE_LIMIT_EXCEEDED') {
    assert.match(answer.headers.get('retry-after') ?? '', WHOLE_SECONDS);
  }
}

/** Asserts that the answer is a success in an envelope with exactly the four fields. Returns its data. */
export function assertSuccess(answer: Answer): Readonly<Record<string, unknown>> {
  assert.equal(answer.status, 200, answer.text);
  assertEnvelopeHeaders(answer);
  assert.deepEqual(Object.keys(answer.json), ['success', 'message', 'data', 'meta']);
  assert.equal(answer.json.success, true);
  assert.match(answer.json.message, /\w/);
  assert.deepEqual(Object.keys(answer.json.meta ?? {}), ['timestamp']);
  assert.match(answer.json.meta?.timestamp ?? '', TIMESTAMP);
  return answer.json.data ?? {};
}
