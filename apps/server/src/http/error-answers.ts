import type http from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type BilingualText, englishOnly } from '../lib/bilingual-text.ts';
import type { AccessEntry } from '../observability/access-log.ts';
import type { Log } from '../observability/log.ts';
import { traceFields } from '../observability/tracing/tracing.ts';
import { DatabaseUnavailable } from '../postgres/database.ts';
import type { AnsweredRequest, ErrorAnswer, ErrorForm } from './envelope.ts';
import { ApiError, type ErrorCode, unavailable } from './errors.ts';
import { rawResponse } from './raw-response.ts';
import { expectsContinue, hasBody } from './request-checks.ts';

const DATABASE_RETRY_AFTER_MS = 1_000;

/** How a listener writes its errors, and where it logs them. */
export interface ErrorAnswering {
  readonly form: ErrorForm;
  readonly log: Log;
  readonly logMalformed: (access: Omit<AccessEntry, 'listener'>) => void;
}

/**
 * Answers in the listener's form, whatever was thrown. Errors that the caller did not cause are logged with their
 * cause.
 */
export function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  answering: ErrorAnswering,
): FastifyReply {
  const { statusCode, headers, body } = errorAnswer(error, request, answering);
  if (request.errorCode === 'PAYLOAD_TOO_LARGE') discardBody(request, reply);
  return reply.code(statusCode).headers(headers).send(body);
}

/** The answer, for a response that has begun: its body is then the end of that. What `answerError` logs is logged. */
export function errorAnswer(error: unknown, request: FastifyRequest, { form, log }: ErrorAnswering): ErrorAnswer {
  const apiError = wasCutOff(error) ? cutOff(request, error) : asApiError(error, request);
  request.errorCode = apiError.code;
  if (apiError.statusCode >= 500 && apiError.cause !== undefined) {
    const level = apiError.code === 'INTERNAL_ERROR' ? 'error' : 'warn';
    const { code, message } = apiError;
    log[level](
      { requestId: request.id, errorCode: code, answer: message, err: apiError.cause, ...traceFields(request.span) },
      'answering a request failed; the client got an error response',
    );
  }
  const answer = form(apiError, request);
  if (answer.logFields !== undefined) request.logFields = { ...request.logFields, ...answer.logFields };
  return answer;
}

/** Of one body that is too large: more than a client sends by mistake. */
const DISCARDED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Many clients read the answer only after they have sent everything. A connection that is closed with unread bytes is
 * reset, and such a client loses the answer. So the rest of the body is read and discarded, in the 10 s that a request
 * may take. Fastify would close the connection, which remains right for a body that is too large even for that.
 */
function discardBody(request: FastifyRequest, reply: FastifyReply): void {
  // This client was not told to send its body.
  if (expectsContinue(request)) return;
  const { raw, headers } = request;
  const announcedBytes = headers['content-length'];
  if (announcedBytes !== undefined) {
    if (Number(announcedBytes) <= DISCARDED_BYTES_MAX) reply.removeHeader('connection');
    return;
  }
  reply.removeHeader('connection');
  let leftBytes = DISCARDED_BYTES_MAX;
  raw.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length;
    if (leftBytes < 0) raw.destroy();
  });
}

function asApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseUnavailable) {
    return unavailable(DATABASE_UNAVAILABLE, DATABASE_RETRY_AFTER_MS, error);
  }
  const code = error instanceof Error && 'code' in error ? FASTIFY_ERRORS[String(error.code)] : undefined;
  if (code === undefined) return new ApiError('INTERNAL_ERROR', { cause: error });
  if (code !== 'PAYLOAD_TOO_LARGE') return new ApiError(code, { cause: error });
  const kib = Math.floor(request.routeOptions.bodyLimit / 1024);
  const message = {
    en: `The request body is too large: send at most ${kib} KiB`,
    id: `Body permintaan terlalu besar: kirim paling banyak ${kib} KiB`,
  };
  return new ApiError(code, { message, cause: error });
}

const DATABASE_UNAVAILABLE: BilingualText = {
  en: 'the database cannot answer now. Repeat the request',
  id: 'basis data sedang tidak dapat menjawab. Ulangi permintaan',
};

const FASTIFY_ERRORS: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'INVALID_FORMAT',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'INVALID_FORMAT',
};

/** Node's errors for a body whose connection ended before it did. */
const CUT_OFF_ERRORS: ReadonlySet<unknown> = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE']);

const wasCutOff = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && CUT_OFF_ERRORS.has(error.code);

/**
 * The client stopped sending. It cannot read the answer, and the operator has nothing to do: the access line says what
 * happened, and no error is logged.
 */
function cutOff(request: FastifyRequest, cause: unknown): ApiError {
  request.logFields = { ...request.logFields, reason: 'the connection ended before the body' };
  return new ApiError('REQUEST_TIMEOUT', { cause });
}

/**
 * Bytes that Node's parser cannot read never become a request: the answer is written to the bare socket. `latest` is
 * the response to the last request that the parser could read on that socket: each request gets one answer, in order.
 */
export function answerMalformed(
  error: Error & { code?: string },
  socket: Socket,
  latest: http.ServerResponse | undefined,
  requestId: string,
  answering: ErrorAnswering,
): void {
  const inBody = latest !== undefined && hasBody(latest.req) && !latest.req.complete;
  // A request that loses its connection before its body has arrived is rejected, and logged, by itself (`cutOff`).
  const isCutOff = error.code === 'ECONNRESET' || (inBody && error.code === 'HPE_INVALID_EOF_STATE');
  if (isCutOff || !socket.writable || (inBody && latest.headersSent)) {
    socket.destroy();
    return;
  }
  if (latest !== undefined && (inBody ? latest.socket === null : !latest.writableFinished)) {
    const turn = inBody ? 'socket' : 'finish';
    latest.once(turn, () => answerMalformed(error, socket, latest, requestId, answering));
    return;
  }
  const apiError =
    PARSER_ERRORS[error.code ?? '']?.() ??
    new ApiError('INVALID_FORMAT', {
      message: { en: 'Malformed HTTP request', id: 'Permintaan HTTP tidak dapat dibaca' },
    });
  const access = endWithError(socket, apiError, requestId, inBody ? latest.req : null, answering.form);
  answering.logMalformed({ ...access, method: 'none', fields: { parserError: error.code } });
}

/** How long a client may take to read the answer to a request for a tunnel. */
const TUNNEL_ANSWER_MS = 1_000;

/**
 * CONNECT has no path, and so no route. Node hands the bare socket over, without its own listeners and timeouts, and
 * reads no further request from it.
 */
export function rejectTunnel(
  socket: Socket,
  latest: http.ServerResponse | undefined,
  requestId: string,
  answering: ErrorAnswering,
): void {
  // The client may be gone: without a listener, that would end the process.
  socket.on('error', () => {});
  // Bytes for the other end of the tunnel are discarded.
  socket.resume();
  if (latest !== undefined && !latest.writableFinished) {
    latest.once('finish', () => rejectTunnel(socket, undefined, requestId, answering));
    return;
  }
  const apiError = new ApiError('METHOD_NOT_ALLOWED', {
    message: englishOnly('Method not allowed: CONNECT asks for a tunnel, and this service opens none'),
    headers: { allow: '' },
  });
  const access = endWithError(socket, apiError, requestId, null, answering.form);
  setTimeout(() => socket.destroy(), TUNNEL_ANSWER_MS).unref();
  answering.logMalformed({ ...access, method: 'CONNECT', fields: null });
}

/** Writes the error to the bare socket and ends it. Returns the fields of the access log that it determines. */
function endWithError(
  socket: Socket,
  apiError: ApiError,
  requestId: string,
  request: AnsweredRequest | null,
  form: ErrorForm,
) {
  const { statusCode, headers, body } = form(apiError, request);
  socket.end(rawResponse(statusCode, { ...headers, 'x-request-id': requestId }, body));
  return { requestId, route: 'none', status: statusCode, durationMs: 0, clientId: undefined, errorCode: apiError.code };
}

const PARSER_ERRORS: Readonly<Record<string, () => ApiError>> = {
  HPE_HEADER_OVERFLOW: () => new ApiError('HEADERS_TOO_LARGE'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ApiError('REQUEST_TIMEOUT'),
};
