import { INVALID_BANK_CODE_MESSAGE } from '../domain/account-check-request.ts';
import { type TemporarilyUnavailable, temporarilyUnavailable } from '../domain/temporarily-unavailable.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';

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
  PROPOSAL_CONFLICT: 409,
  CLIENT_CONFLICT: 409,
  CURSOR_GONE: 410,
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
const MESSAGES: Record<ErrorCode, BilingualText> & { readonly SERVICE_UNAVAILABLE: TemporarilyUnavailable } = {
  UNAUTHORIZED: {
    en: 'Invalid or expired token: obtain a new access token and repeat the request',
    id: 'Token tidak valid atau kedaluwarsa: ambil token akses baru, lalu ulangi permintaan',
  },
  FORBIDDEN: {
    en: 'The access token lacks the scope for this operation',
    id: 'Token akses tidak memiliki scope untuk operasi ini',
  },
  RATE_LIMIT_EXCEEDED: {
    en: 'Too many requests: wait for the number of seconds in Retry-After',
    id: 'Terlalu banyak permintaan: tunggu selama jumlah detik di Retry-After',
  },
  TRANSACTION_NOT_FOUND: { en: 'Transaction not found', id: 'Transaksi tidak ditemukan' },
  INVALID_TRANSACTION_ID: { en: 'Invalid transaction ID format', id: 'Format ID transaksi tidak valid' },
  INVALID_BANK_CODE: INVALID_BANK_CODE_MESSAGE,
  UNSUPPORTED_BANK: {
    en: 'Unsupported bank: GET /api/v1/banks lists the banks with check_account true',
    id: 'Bank belum didukung: lihat bank dengan check_account true di GET /api/v1/banks',
  },
  INVALID_FORMAT: { en: 'Invalid format', id: 'Format tidak valid' },
  INVALID_REQUEST: { en: 'Invalid request', id: 'Permintaan tidak valid' },
  ENDPOINT_NOT_FOUND: { en: 'Callback endpoint not found', id: 'Endpoint callback tidak ditemukan' },
  DELIVERY_NOT_FOUND: { en: 'Callback delivery not found', id: 'Pengiriman callback tidak ditemukan' },
  VALIDATION_NOT_FOUND: { en: 'Account validation not found', id: 'Validasi rekening tidak ditemukan' },
  VALIDATION_LIMIT_REACHED: {
    en: 'Too many account validations are running: wait for one to end, or cancel one',
    id: 'Terlalu banyak validasi rekening sedang berjalan: tunggu sampai ada yang selesai, atau batalkan salah satu',
  },
  IDEMPOTENCY_KEY_REUSED: {
    en: 'This Idempotency-Key was already used with a different request: use another key for another request',
    id: 'Idempotency-Key ini sudah dipakai untuk permintaan yang berbeda: gunakan key lain untuk permintaan lain',
  },
  ENDPOINT_LIMIT_REACHED: {
    en: 'No more callback endpoints can be registered: change an existing one',
    id: 'Endpoint callback tidak bisa ditambah lagi: ubah endpoint yang sudah ada',
  },
  ENDPOINT_DISABLED: {
    en: 'The callback endpoint is disabled: enable it first, with {"disabled":false}',
    id: 'Endpoint callback sedang nonaktif: aktifkan dahulu dengan {"disabled":false}',
  },
  PROPOSAL_CONFLICT: {
    en: 'The proposal cannot be approved as it is, and nothing was done: read it again',
    id: 'Usulan ini tidak dapat disetujui, dan tidak ada yang diubah: baca lagi usulannya',
  },
  CLIENT_CONFLICT: {
    en: 'The client is not in a state that allows this, and nothing was changed: read it again',
    id: 'Keadaan klien tidak mengizinkan ini, dan tidak ada yang diubah: baca lagi kliennya',
  },
  CURSOR_GONE: {
    en: 'What this cursor follows was lost when the service was restored from a backup: read again from an earlier one',
    id: 'Yang ditunjuk cursor ini hilang saat layanan dipulihkan dari cadangan: baca lagi dari cursor sebelumnya',
  },
  SERVICE_UNAVAILABLE: temporarilyUnavailable({
    en: 'repeat the request after the number of seconds in Retry-After',
    id: 'ulangi permintaan setelah jumlah detik di Retry-After',
  }),
  NOT_FOUND: { en: 'No such route', id: 'Alamat tidak ditemukan' },
  METHOD_NOT_ALLOWED: {
    en: 'Method not allowed: use one of those in Allow',
    id: 'Metode HTTP tidak diizinkan: gunakan salah satu yang ada di Allow',
  },
  NOT_ACCEPTABLE: {
    en: 'Not acceptable: responses are application/json, so Accept must allow it',
    id: 'Accept tidak dapat dipenuhi: jawaban berupa application/json, jadi Accept harus mengizinkannya',
  },
  REQUEST_TIMEOUT: {
    en: 'The request did not arrive in time: send it again without pausing',
    id: 'Permintaan tidak diterima tepat waktu: kirim ulang tanpa jeda',
  },
  PAYLOAD_TOO_LARGE: { en: 'The request body is too large', id: 'Body permintaan terlalu besar' },
  UNSUPPORTED_MEDIA_TYPE: {
    en: 'Unsupported media type: send Content-Type: application/json, uncompressed',
    id: 'Tipe media tidak didukung: kirim Content-Type: application/json, tanpa kompresi',
  },
  HEADERS_TOO_LARGE: {
    en: 'The request headers are too large: send at most 16 KiB of them',
    id: 'Header permintaan terlalu besar: kirim paling banyak 16 KiB',
  },
  INTERNAL_ERROR: {
    en: 'An internal error occurred: quote the X-Request-Id of this response when you report it',
    id: 'Terjadi kesalahan internal: sertakan X-Request-Id dari jawaban ini saat Anda melaporkannya',
  },
};

interface ErrorDetails {
  /** For the caller, in both languages. */
  readonly message?: BilingualText;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log; never sent. */
  readonly cause?: unknown;
}

/**
 * An error answer: an HTTP status, a stable code, a text for the caller, and a cause for the log. `message` is the text
 * in English.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly statusCode: number;
  readonly text: BilingualText;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, { message = MESSAGES[code], headers = {}, cause }: ErrorDetails = {}) {
    super(message.en, { cause });
    this.text = message;
    this.code = code;
    this.statusCode = HTTP_STATUSES[code];
    this.headers = headers;
  }
}

/**
 * The bank or the database cannot answer now. A request after `retryAfterMs` may succeed. `reason` goes on after
 * "Temporarily unavailable: ".
 */
export const unavailable = (reason: BilingualText, retryAfterMs: number, cause?: unknown): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', {
    message: temporarilyUnavailable(reason),
    headers: retryAfterHeader(retryAfterMs),
    cause,
  });

/** What a cursor follows was lost when a backup was restored. `next` is the address to go on from. */
export const cursorGone = (message: BilingualText, next: string): ApiError =>
  new ApiError('CURSOR_GONE', { message, headers: { link: `<${next}>; rel="next"` } });

/** The caller has used up a limit. A request after `retryAfterMs` is admitted. */
export const tooManyRequests = (
  retryAfterMs: number,
  message: BilingualText = MESSAGES.RATE_LIMIT_EXCEEDED,
): ApiError => new ApiError('RATE_LIMIT_EXCEEDED', { message, headers: retryAfterHeader(retryAfterMs) });

/**
 * An answer that refuses names a scheme (RFC 9110, section 11.6.1). `parameters` as in RFC 6750, section 3, each with a
 * comma before it.
 */
export const bearerChallenge = (parameters = '') => ({ 'www-authenticate': `Bearer realm="tiba"${parameters}` });

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
