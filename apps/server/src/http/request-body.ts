import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { BilingualText } from '../lib/bilingual-text.ts';
import { isJsonObject, type JsonObject, parseExactJson, parseJsonStrings } from '../lib/exact-json.ts';
import { ApiError } from './errors.ts';
import { partsOf } from './request-headers.ts';

/**
 * Reads `application/json` bodies: strictly UTF-8, numbers kept exact, and no field twice with different values,
 * because parsers disagree on which of them counts. Any other body is INVALID_FORMAT.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      const bytes = body as Buffer;
      // Fastify assembles all that it knows about the route on each access: only bodies that may be slow are worth it.
      const isOfStrings = bytes.length > SHORT_BYTES_MAX && request.routeOptions.config.readsStringsOnly === true;
      done(null, parseJsonBody(bytes, isOfStrings));
    } catch (error) {
      done(error as ApiError);
    }
  });
}

/** A body of this length takes a millisecond at most, whatever it holds. */
const SHORT_BYTES_MAX = 2_048;
/** Of a body of which only strings count. */
const MEMBERS_MAX = 1_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** `isOfStrings`: its numbers do not count. @throws ApiError INVALID_FORMAT */
export function parseJsonBody(body: Buffer, isOfStrings = false): unknown {
  if (body.length === 0) throw new ApiError('INVALID_FORMAT', { message: NO_BODY });
  try {
    const text = utf8.decode(body);
    return isOfStrings ? parseJsonStrings(text, MEMBERS_MAX) : parseExactJson(text);
  } catch (cause) {
    throw new ApiError('INVALID_FORMAT', { message: NO_JSON, cause });
  }
}

const NO_BODY: BilingualText = {
  en: 'Invalid format: the body is empty: send a JSON object',
  id: 'Format tidak valid: body kosong: kirim objek JSON',
};
const NO_JSON: BilingualText = {
  en: 'Invalid format: the body is not valid JSON in UTF-8, names a field twice, or has far too many fields or levels',
  id:
    'Format tidak valid: body bukan JSON UTF-8 yang benar, ada field yang ditulis dua kali, atau jumlah field atau ' +
    'tingkatnya terlalu banyak',
};

/** An onRequest hook: the content type is checked after the caller and before the body (docs/contract.md 7.2). */
export const requireJson: onRequestHookHandler = ({ headers }, _reply, done) => {
  const isReadable = isUtf8Of(JSON_TYPE, headers['content-type']) && isUncompressed(headers);
  done(isReadable ? undefined : new ApiError('UNSUPPORTED_MEDIA_TYPE'));
};

const JSON_TYPE = ['application/json'];

/** Codings are compared without regard to case (RFC 9110, section 8.4.1). */
export const isUncompressed = ({ 'content-encoding': coding = 'identity' }: FastifyRequest['headers']): boolean =>
  coding.toLowerCase() === 'identity';

/** Whether a body is of one of these types, and is in UTF-8 as far as its type says. */
function isUtf8Of(types: readonly string[], contentType = ''): boolean {
  if (types.includes(contentType)) return true;
  const [type = '', ...parameters] = partsOf(contentType.toLowerCase());
  if (!types.includes(type)) return false;
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  // A form has ASCII only, and libraries name charsets that differ elsewhere (Apache HttpClient 4: ISO-8859-1).
  return charset === undefined || UTF_8.has(charset) || type === FORM;
}

export const FORM = 'application/x-www-form-urlencoded';

/** Some libraries leave the hyphen out. */
const UTF_8 = new Set(['charset=utf-8', 'charset="utf-8"', 'charset=utf8', 'charset="utf8"']);

/** The own fields of a JSON object. @throws ApiError INVALID_FORMAT for anything else. */
export function jsonObject(body: unknown): JsonObject {
  if (isJsonObject(body)) return body;
  throw new ApiError('INVALID_FORMAT', { message: NO_OBJECT });
}

const NO_OBJECT: BilingualText = {
  en: 'Invalid format: the body must be a JSON object',
  id: 'Format tidak valid: body harus berupa objek JSON',
};

export const isBodyEmpty = (headers: FastifyRequest['headers']): boolean =>
  (headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined;

/**
 * An onRequest hook for operations that need no body. Many HTTP clients name a content type even where they send
 * nothing, and an empty body would then be read as broken JSON. Put it after the authorize hook.
 */
export const allowEmptyBody: onRequestHookHandler = ({ headers }, _reply, done) => {
  if (isBodyEmpty(headers)) delete headers['content-type'];
  done();
};

/**
 * An onRequest hook: a body of another type, or in another charset than UTF-8, is UNSUPPORTED_MEDIA_TYPE. An empty body
 * is left to the operation.
 */
export const requireBodyOf =
  (...types: readonly string[]): onRequestHookHandler =>
  ({ headers }, _reply, done) => {
    const isAccepted = isBodyEmpty(headers) || isUtf8Of(types, headers['content-type']);
    done(isAccepted ? undefined : unsupportedMediaType(types, IN_UTF_8));
  };

const IN_UTF_8: BilingualText = { en: 'in UTF-8', id: 'dalam UTF-8' };
export const UNCOMPRESSED: BilingualText = { en: 'uncompressed', id: 'tanpa kompresi' };

/** `manner`: how the body is sent, besides its type. */
export const unsupportedMediaType = (accepted: readonly string[], manner: BilingualText): ApiError =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', {
    message: {
      en: `Unsupported media type: send Content-Type: ${accepted.join(' or ')}, ${manner.en}`,
      id: `Tipe media tidak didukung: kirim Content-Type: ${accepted.join(' atau ')}, ${manner.id}`,
    },
  });
