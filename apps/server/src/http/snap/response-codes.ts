import type { FastifyReply, FastifyRequest } from 'fastify';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { snapTimestamp } from '../../snap/timestamp.ts';
import type { ErrorForm } from '../envelope.ts';
import { ApiError, bearerChallenge, type ErrorCode } from '../errors.ts';
import { serviceCodeOf } from './services.ts';

interface SnapCase {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** HTTP status, case code and message of every answer (ASPI, "response code"). docs/snap-clients.md lists them. */
export const SNAP_CASES = {
  successful: { status: 200, code: '00', message: 'Successful' },
  badRequest: { status: 400, code: '00', message: 'Bad Request' },
  invalidFieldFormat: { status: 400, code: '01', message: 'Invalid Field Format' },
  invalidMandatoryField: { status: 400, code: '02', message: 'Invalid Mandatory Field' },
  unauthorized: { status: 401, code: '00', message: 'Unauthorized.' },
  invalidToken: { status: 401, code: '01', message: 'Invalid Token (B2B)' },
  tokenNotFound: { status: 401, code: '03', message: 'Token Not Found (B2B)' },
  featureNotAllowed: { status: 403, code: '01', message: 'Feature Not Allowed' },
  doNotHonor: { status: 403, code: '05', message: 'Do Not Honor' },
  inactiveAccount: { status: 403, code: '18', message: 'Inactive Account' },
  transactionNotFound: { status: 404, code: '01', message: 'Transaction Not Found' },
  invalidRouting: { status: 404, code: '02', message: 'Invalid Routing' },
  bankNotSupported: { status: 404, code: '03', message: 'Bank Not Supported By Switch' },
  invalidAccount: { status: 404, code: '11', message: 'Invalid Account' },
  invalidAmount: { status: 404, code: '13', message: 'Invalid Amount' },
  inconsistentRequest: { status: 404, code: '18', message: 'Inconsistent Request' },
  functionNotSupported: { status: 405, code: '00', message: 'Requested Function Is Not Supported' },
  conflict: { status: 409, code: '00', message: 'Conflict' },
  tooManyRequests: { status: 429, code: '00', message: 'Too Many Requests' },
  internalServerError: { status: 500, code: '01', message: 'Internal Server Error' },
  externalServerError: { status: 500, code: '02', message: 'External Server Error' },
  timeout: { status: 504, code: '00', message: 'Timeout' },
} as const satisfies Record<string, SnapCase>;

export type SnapCaseName = keyof typeof SNAP_CASES;

/**
 * The SNAP listener shares code with the JSON API. This is the SNAP case of each error of that code; an error that is
 * not listed is a bad request. SNAP has no code for "temporarily unavailable": 500 01 asks for a retry, and Retry-After
 * says when.
 */
const CASES_BY_ERROR_CODE: Partial<Record<ErrorCode, SnapCaseName>> = {
  UNAUTHORIZED: 'unauthorized',
  FORBIDDEN: 'featureNotAllowed',
  RATE_LIMIT_EXCEEDED: 'tooManyRequests',
  TRANSACTION_NOT_FOUND: 'transactionNotFound',
  INVALID_BANK_CODE: 'bankNotSupported',
  UNSUPPORTED_BANK: 'bankNotSupported',
  NOT_FOUND: 'invalidRouting',
  METHOD_NOT_ALLOWED: 'functionNotSupported',
  SERVICE_UNAVAILABLE: 'internalServerError',
  INTERNAL_ERROR: 'internalServerError',
};

interface RejectionDetails {
  /** A field's name, or the reason. */
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** A rejection by a rule of SNAP. `code` is the nearest error of the JSON API, for the access log. */
export class SnapRejection extends ApiError {
  readonly snapCase: SnapCaseName;

  constructor(code: ErrorCode, snapCase: SnapCaseName, { detail = '', headers = {}, cause }: RejectionDetails = {}) {
    // SNAP's messages are in English, whatever the client prefers.
    super(code, { message: englishOnly(detail), headers, cause });
    this.snapCase = snapCase;
  }
}

/** A header or a field that is missing. */
export const missing = (name: string): SnapRejection =>
  new SnapRejection('INVALID_FORMAT', 'invalidMandatoryField', { detail: name });

/** A header or a field that is not of its form, which stands in the message: `digits`, for example. */
export const malformed = (name: string, form: string): SnapRejection =>
  new SnapRejection('INVALID_FORMAT', 'invalidFieldFormat', { detail: `${name}: ${form}` });

/** The request cannot be authenticated: `reason` names the header, and never says more than a forger may know. */
export const unauthorized = (reason: string): SnapRejection =>
  new SnapRejection('UNAUTHORIZED', 'unauthorized', { detail: reason });

/** ASPI, responseMessage. */
const MESSAGE_LENGTH_MAX = 150;

/** Seven characters: HTTP status, service code, case code. */
const responseCode = (snapCase: SnapCaseName, service: string): string =>
  `${SNAP_CASES[snapCase].status}${service}${SNAP_CASES[snapCase].code}`;

const HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** What a service answers: the code by its case, and the fields beside it. */
export interface SnapAnswer {
  readonly snapCase: SnapCaseName;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Answers in SNAP's form. The response code stands in the access log. */
export function sendSnap(request: FastifyRequest, reply: FastifyReply, { snapCase, fields }: SnapAnswer): FastifyReply {
  const code = responseCode(snapCase, serviceCodeOf(request.route));
  request.logFields = { ...request.logFields, responseCode: code };
  const { status, message } = SNAP_CASES[snapCase];
  const body = JSON.stringify({ responseCode: code, responseMessage: message, ...fields });
  return reply.code(status).headers(HEADERS).send(body);
}

/** SNAP names no challenge; HTTP asks for one. */
function challengeOf(snapCase: SnapCaseName): Readonly<Record<string, string>> {
  if (SNAP_CASES[snapCase].status !== 401) return {};
  return bearerChallenge(snapCase === 'invalidToken' ? ', error="invalid_token"' : '');
}

/** Errors in SNAP's form. */
export const snapErrorForm: ErrorForm = (error, request) => {
  const snapCase = snapCaseOf(error);
  const { status, message } = SNAP_CASES[snapCase];
  const code = responseCode(snapCase, serviceCodeOf(request?.route));
  const detail = error.message === '' ? '' : ` [${error.message}]`;
  return {
    statusCode: status,
    // For an error that is written to the bare socket. snap-server.ts replaces it in any other answer.
    headers: { ...HEADERS, 'x-timestamp': snapTimestamp(Date.now()), ...challengeOf(snapCase), ...error.headers },
    body: JSON.stringify({
      responseCode: code,
      responseMessage: cut(`${message}${detail}`, MESSAGE_LENGTH_MAX),
    }),
    logFields: { responseCode: code },
  };
};

function snapCaseOf(error: ApiError): SnapCaseName {
  if (error instanceof SnapRejection) return error.snapCase;
  return CASES_BY_ERROR_CODE[error.code] ?? (error.statusCode < 500 ? 'badRequest' : 'internalServerError');
}

/** The first `lengthMax` characters (code points) of a text. */
export const cut = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : Array.from(text).slice(0, lengthMax).join('');
