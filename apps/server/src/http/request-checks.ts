import type { IncomingMessage } from 'node:http';
import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { type BilingualText, englishOnly, followedBy } from '../lib/bilingual-text.ts';
import { ApiError } from './errors.ts';
import type { ServedMethods } from './method-not-allowed.ts';

/** Checks of a request's head that do not depend on its operation. */

export type ListenerName = 'public' | 'operator' | 'snap';

/** Runs before the body is read: no body repairs a missing route or a malformed head. */
export function checkHead(
  request: FastifyRequest,
  listener: ListenerName,
  { refusalOf }: Pick<ServedMethods, 'refusalOf'>,
): ApiError | undefined {
  const malformed = malformedHead(request.raw);
  if (malformed !== undefined || !request.is404) return malformed;
  return refusalOf(request) ?? notFound(listener, request.originalUrl);
}

export function malformedHead({
  headers,
  httpVersion,
  rawHeaders,
}: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'rawHeaders'>): ApiError | undefined {
  // RFC 9112, section 3.2.
  if (headers.host === undefined && httpVersion === '1.1') {
    return new ApiError('INVALID_FORMAT', { message: HOST_MISSING });
  }
  const repeated = repeatedHeader(rawHeaders);
  if (repeated === undefined) return undefined;
  return new ApiError('INVALID_FORMAT', {
    message: {
      en: `Malformed HTTP request: ${repeated} is given more than once`,
      id: `Permintaan HTTP tidak valid: ${repeated} diberikan lebih dari satu kali`,
    },
  });
}

const HOST_MISSING: BilingualText = {
  en: 'Malformed HTTP request: Host is missing',
  id: 'Permintaan HTTP tidak valid: Host tidak ada',
};

/** Only the public listener has a reference page of its operations. */
export function notFound(listener: ListenerName, url: string): ApiError {
  if (listener === 'operator') return new ApiError('NOT_FOUND', { message: NO_OPERATOR_ROUTE });
  if (listener === 'snap') return new ApiError('NOT_FOUND', { message: NO_SNAP_ROUTE });
  // Many reference IDs contain slashes.
  const hasSlash = url.startsWith('/api/v1/check-status/');
  return new ApiError('NOT_FOUND', { message: hasSlash ? followedBy(NO_ROUTE, SLASH_HINT) : NO_ROUTE });
}

const NO_OPERATOR_ROUTE = englishOnly(
  'No such route: the console is at /console/, and the operations are listed in docs/operating.md and docs/feed.md',
);
const NO_SNAP_ROUTE = englishOnly(
  'POST to /v1.0/access-token/b2b, /account-inquiry-internal, /account-inquiry-external or /transfer/status',
);
const NO_ROUTE: BilingualText = {
  en: 'No such route: the operations are listed at /reference',
  id: 'Alamat tidak ditemukan: daftar operasi ada di /reference',
};
const SLASH_HINT: BilingualText = {
  en: '. A slash in an ID is written %2F, or give ?reference_id=',
  id: '. Garis miring dalam ID ditulis %2F, atau gunakan ?reference_id=',
};

const SINGLE_HEADERS = ['Host', 'Content-Type', 'Authorization'] as const;
/** A bit for each length of a name. Lengths that share a bit cost a closer look, nothing else. */
const lengthBit = (name: string): number => 1 << (name.length & 31);
const SINGLE_BITS = SINGLE_HEADERS.reduce((bits, name) => bits | lengthBit(name), 0);

/**
 * Node takes the first of these headers and ignores the others, but a proxy in front of Tiba may have checked another
 * one. `rawHeaders` holds names and values in turn. Letters are compared only where two names are equally long, because
 * every request is checked here.
 */
function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let seen = 0;
  let twice = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const bit = lengthBit(rawHeaders[index] as string);
    twice |= seen & bit;
    seen |= bit;
  }
  if ((twice & SINGLE_BITS) === 0) return undefined;
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return SINGLE_HEADERS.find((name) => names.indexOf(name.toLowerCase()) !== names.lastIndexOf(name.toLowerCase()));
}

/** Whether the path's percent-encoding is well formed. */
export const isDecodable = (url: string): boolean => {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url.split('?', 1)[0] as string);
    return true;
  } catch {
    return false;
  }
};

/**
 * RFC 9112, section 6.3. A request without a body may still be marked as incomplete: node:http marks it when the parser
 * goes on after its head, unless the answer has been sent before that (connections/pipelining.ts stops the parser).
 */
export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

/**
 * The last check before the body is read. A request that names a content type and sends no body would be waited for,
 * because such a request has no stream that ends (`optimizeEmptyRequests`). Without a content type, Fastify looks for
 * no body.
 */
export const ignoreMissingBody: onRequestHookHandler = ({ raw, headers }, _reply, done) => {
  if (!hasBody(raw)) delete headers['content-type'];
  done();
};

const CONTINUE = /^100-continue$/i;

/** Whether the client waits for `100 Continue` before it sends its body (RFC 9110, section 10.1.1). */
export const expectsContinue = ({ headers: { expect }, raw }: FastifyRequest): boolean =>
  expect !== undefined && CONTINUE.test(expect) && raw.httpVersion === '1.1';

/**
 * The last onRequest hook of a route that reads a body: nothing but the body is left to check. A body that is too large
 * is rejected without it.
 */
export const sendContinue: onRequestHookHandler = (request, reply, done) => {
  if (expectsContinue(request) && !isBodyTooLarge(request)) {
    if (request.headers.upgrade === undefined) reply.removeHeader('connection');
    reply.raw.writeContinue();
  }
  done();
};

function isBodyTooLarge({ headers, routeOptions: { bodyLimit, config } }: FastifyRequest): boolean {
  if (!(Number(headers['content-length']) > bodyLimit)) return false;
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
  return type.trim().toLowerCase() !== config.streamedType;
}

/**
 * For a route that reads a body, after the hooks that may have waited. A connection that ended meanwhile has emitted
 * its events: a reader of the body would now wait without end, and the request would be neither answered nor logged.
 */
export const rejectCutOff: onRequestHookHandler = ({ raw }, _reply, done) => done(raw.errored ?? undefined);
