import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { ApiError } from '../../errors.ts';

const NEWLINE = 0x0a;
/** How long the rest of a feed that failed is read. */
const DISCARD_TIMEOUT_MS = 60_000;

/** The body's chunks. The time that Tiba needs to store them does not count. @throws ApiError REQUEST_TIMEOUT */
export async function* readAtPace(body: Readable, lineTimeoutMs: number): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = body.iterator({ destroyOnReturn: false });
  let leftMs = lineTimeoutMs;
  let isWaiting = false;
  try {
    for (;;) {
      const waitingSinceMs = performance.now();
      const tooSlow = Promise.withResolvers<never>();
      const timer = setTimeout(() => tooSlow.reject(new ApiError('REQUEST_TIMEOUT')), leftMs);
      isWaiting = true;
      const next = await Promise.race([chunks.next(), tooSlow.promise]).finally(() => clearTimeout(timer));
      isWaiting = false;
      if (next.done === true) return;
      leftMs = next.value.includes(NEWLINE) ? lineTimeoutMs : leftMs - (performance.now() - waitingSinceMs);
      yield next.value;
    }
  } finally {
    // An iterator that is not ended keeps the body from being discarded. One that waits for a chunk cannot be ended.
    if (!isWaiting) await chunks.return?.();
  }
}

/** Many clients read the answer only after they have sent everything, so the rest is read and discarded. */
export function discardRest(body: IncomingMessage): void {
  // Not a reason to stay alive: a process that stops closes its connections itself.
  const timer = setTimeout(() => body.destroy(), DISCARD_TIMEOUT_MS).unref();
  body.once('close', () => clearTimeout(timer));
  body.resume();
}
