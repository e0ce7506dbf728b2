import type { FastifyReply, FastifyRequest } from 'fastify';
import { FAILURE_REASON_CODES, reasonText } from '../../domain/failure-reason.ts';
import type { Language } from '../../lib/bilingual-text.ts';
import type { FoundTransaction } from '../../postgres/transaction-look-up.ts';
import type { ProcessingTimes } from '../../transactions/processing-times.ts';
import { callerOf } from '../authorize.ts';
import { ENVELOPE_HEADERS, successEnvelope } from '../envelope.ts';
import { languageOf } from '../language.ts';
import { acceptedAgeSeconds, matchesEntityTag } from '../request-headers.ts';
import { TRANSACTION_FOUND } from './schema.ts';

/**
 * The strong validator of a transaction's version (RFC 9110, section 8.8.3), which differs between languages, because
 * the failure reason does.
 */
export const entityTag = (version: string, language: Language): string =>
  language === 'en' ? `"${version}"` : `"${version}-${language}"`;

export const transactionFound = successEnvelope(TRANSACTION_FOUND);

const FAILURE_REASON = ',"failure_reason":';

/** The end of a rendered transaction with a published reason: its end in Indonesian. */
const INDONESIAN_ENDS: ReadonlyMap<string, string> = new Map(
  FAILURE_REASON_CODES.map((code) => {
    const { en, id } = reasonText(code);
    return [`${FAILURE_REASON}${JSON.stringify(en)}}`, `${FAILURE_REASON}${JSON.stringify(id)}}`];
  }),
);

/**
 * A rendered transaction with its failure reason in this language. A text that is not a published reason stays as it
 * is. No value can contain the search text, because quotes in values are escaped.
 */
export function renderedIn(language: Language, rendered: string): string {
  if (language === 'en') return rendered;
  const start = rendered.lastIndexOf(FAILURE_REASON);
  const end = INDONESIAN_ENDS.get(rendered.slice(start));
  return end === undefined ? rendered : rendered.slice(0, start) + end;
}

/**
 * Sends the transaction (docs/contract.md 2.2), or 304 when `If-None-Match` names its current version. A final status
 * may be cached by a client that accepts an older answer (docs/decisions/0034).
 */
export function sendTransaction(request: FastifyRequest, reply: FastifyReply, found: FoundTransaction): void {
  const language = languageOf(request);
  const tag = entityTag(found.version, language);
  reply.header('etag', tag);
  const { 'if-none-match': ifNoneMatch, 'cache-control': accepted } = request.headers;
  const isCacheable = accepted !== undefined && found.progress === 'final';
  const headers = isCacheable ? headersOfFinal(request, language, accepted) : ENVELOPE_HEADERS[language];
  if (ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, tag)) {
    const { 'cache-control': cacheControl, vary } = headers;
    reply.header('cache-control', cacheControl).header('vary', vary).code(304).send();
    return;
  }
  reply.headers(headers).send(transactionFound(language, renderedIn(language, found.rendered)));
}

/**
 * A cache keeps the answer for as long as the client accepts, and no longer than the token could read it. Other
 * requests of the same cache get it only if they ask in the same way: two clients may use the same reference ID.
 */
function headersOfFinal(request: FastifyRequest, language: Language, accepted: string) {
  const tokenLeftSeconds = Math.floor((callerOf(request).expiresAtMs - Date.now()) / 1000);
  const seconds = Math.min(acceptedAgeSeconds(accepted), tokenLeftSeconds);
  if (seconds <= 0) return ENVELOPE_HEADERS[language];
  return {
    ...ENVELOPE_HEADERS[language],
    'cache-control': `private, max-age=${seconds}, must-revalidate`,
    vary: 'Accept, Accept-Language, Authorization, Cache-Control',
  };
}

type RenderedField = 'transaction_id' | 'bank_name' | 'created_at';

/**
 * A text field of a rendered transaction. It is cut out of the text instead of parsing the whole, because this runs for
 * each answer about a transaction in PROCESS. No value can contain the search text, because quotes in values are
 * escaped.
 */
export function readRendered(rendered: string, field: RenderedField): string {
  const start = rendered.indexOf(`"${field}":"`) + field.length + '"":"'.length;
  const text = rendered.slice(start, rendered.indexOf('"', start));
  return text.includes('\\') ? (JSON.parse(rendered) as Record<RenderedField, string>)[field] : text;
}

/** The Retry-After of an answer about a transaction in PROCESS, in seconds, from its bank's recent processing times. */
export type RetryAfter = (rendered: string) => string;

export const createRetryAfter =
  (processingTimes: Pick<ProcessingTimes, 'pollAfterSeconds'>): RetryAfter =>
  (rendered) =>
    String(processingTimes.pollAfterSeconds(readRendered(rendered, 'bank_name'), readRendered(rendered, 'created_at')));
