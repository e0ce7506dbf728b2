import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FoundTransaction } from '../../postgres/transaction-look-up.ts';
import type { Reauthorize } from '../authorize.ts';
import { entityTag } from '../entity-tag.ts';
import type { Endings } from './endings.ts';
import type { TransactionWatch } from './transaction-watch.ts';

/** Proxies close what is silent for a minute, and a client that is gone is only found out by writing to it. */
const HEARTBEAT_MS = 15_000;
/** What a client waits before it connects again. */
const RETRY_MS = 2_000;

export interface StreamedStatus {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly view: TransactionWatch;
  readonly reauthorize: Reauthorize;
  readonly endings: Endings;
  readonly maxMs: number;
}

/**
 * The changes of one transaction as server-sent events (HTML, section 9.2). The id of each is the transaction's version,
 * so that `Last-Event-ID` tells what the client has seen. The stream ends after the final status, or after
 * `maxMs`; 204 to a client that comes back for more than the final status tells it to stop.
 */
export async function streamStatus({
  request,
  reply,
  view,
  reauthorize,
  endings,
  maxMs,
}: StreamedStatus): Promise<void> {
  const seen = request.headers['last-event-id'];
  // A change between the first look and the watch would not be heard of.
  const first = await view.read().catch((error: unknown) => {
    view.end();
    throw error;
  });
  reply.header('cache-control', 'no-store').header('etag', entityTag(first.version));
  if (first.progress === 'final' && seen === first.version) {
    view.end();
    reply.code(204).send();
    return;
  }

  const stream = new Readable({ read: () => {} });
  let sent = seen;
  let finished = false;
  function finish(): void {
    if (finished) return;
    finished = true;
    clearInterval(heartbeat);
    clearTimeout(end);
    endings.remove(finish);
    view.end();
    stream.push(null);
  }
  function tell(found: FoundTransaction): void {
    if (finished) return;
    if (found.version !== sent) {
      sent = found.version;
      stream.push(`id: ${found.version}\nevent: status\ndata: ${found.rendered}\n\n`);
    }
    if (found.progress === 'final') finish();
  }
  /** A token that has expired or a client that was disabled meanwhile is told nothing more. */
  async function whileAllowed(act: () => void): Promise<void> {
    const refusal = await reauthorize(request);
    if (finished) return;
    if (refusal === null) act();
    else finish();
  }
  const heartbeat = setInterval(() => void whileAllowed(() => stream.push(': still here\n\n')), HEARTBEAT_MS);
  const end = setTimeout(finish, maxMs);
  // Fastify destroys it also when the client had left before.
  stream.once('close', finish);
  view.onChange((found) => void whileAllowed(() => tell(found)));
  stream.push(`retry: ${RETRY_MS}\n\n`);
  reply.header('content-type', 'text/event-stream').header('x-accel-buffering', 'no').send(stream);
  tell(view.latest());
  if (!finished) endings.add(finish);
}
