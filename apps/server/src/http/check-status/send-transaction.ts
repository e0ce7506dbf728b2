import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FoundTransaction } from '../../postgres/transaction-look-up.ts';
import { entityTag, matchesEntityTag } from '../entity-tag.ts';
import { ENVELOPE_HEADERS, sendSuccess } from '../envelope.ts';

/** The transaction as docs/contract.md 2.2 has it, or 304 to whoever has seen this version. */
export function sendTransaction(request: FastifyRequest, reply: FastifyReply, found: FoundTransaction): void {
  const tag = entityTag(found.version);
  reply.header('etag', tag);
  const seen = request.headers['if-none-match'];
  if (seen !== undefined && matchesEntityTag(seen, tag)) {
    reply.header('cache-control', ENVELOPE_HEADERS['cache-control']).code(304).send();
    return;
  }
  sendSuccess(reply, 'Transaction found', found.rendered);
}
