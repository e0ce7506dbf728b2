import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FoundTransaction } from '../../postgres/transaction-look-up.ts';
import type { ProcessingTimes } from '../../transactions/processing-times.ts';
import { ENVELOPE_HEADERS, sendEnvelope, successEnvelope } from '../envelope.ts';
import { matchesEntityTag } from '../request-headers.ts';

/** The strong validator of a transaction's version (RFC 9110, section 8.8.3). */
export const entityTag = (version: string): string => `"${version}"`;

const transactionFound = successEnvelope('Transaction found');

/** Sends the transaction (docs/contract.md 2.2), or 304 when `If-None-Match` names its current version. */
export function sendTransaction(request: FastifyRequest, reply: FastifyReply, found: FoundTransaction): void {
  const tag = entityTag(found.version);
  reply.header('etag', tag);
  const ifNoneMatch = request.headers['if-none-match'];
  if (ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, tag)) {
    reply.header('cache-control', ENVELOPE_HEADERS['cache-control']).code(304).send();
    return;
  }
  sendEnvelope(reply, transactionFound(found.rendered));
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
