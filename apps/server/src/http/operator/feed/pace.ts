import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { within } from '../../../lib/within.ts';
import { ApiError } from '../../errors.ts';

const NEWLINE = 0x0a;
/** How long the rest of a feed that failed is read. */
const DISCARD_TIMEOUT_MS = 60_000;

export interface Pace {
  /** A line must be complete within this time. What Tiba needs to store lines does not count. */
  readonly lineTimeoutMs: number;
  /** When nothing has arrived for this long, the reader is told. */
  readonly pauseMs: number;
}

/** The body's chunks, and one null in each pause between them. @throws ApiError REQUEST_TIMEOUT */
export async function* readAtPace(body: Readable, { lineTimeoutMs, pauseMs }: Pace): AsyncGenerator<Buffer | null> {
  const chunks: AsyncIterator<Buffer> = body.iterator({ destroyOnReturn: false });
  let leftMs = lineTimeoutMs;
  let isPause = false;
  let awaited: Promise<IteratorResult<Buffer>> | null = null;
  try {
    for (;;) {
      awaited ??= chunks.next();
      const waitingSinceMs = performance.now();
      const next: IteratorResult<Buffer> | null = await within(
        awaited,
        isPause ? leftMs : Math.min(leftMs, pauseMs),
        null,
      );
      leftMs -= performance.now() - waitingSinceMs;
      isPause = next === null;
      if (next !== null) {
        awaited = null;
        if (next.done === true) return;
        if (next.value.includes(NEWLINE)) leftMs = lineTimeoutMs;
      }
      if (leftMs <= 0) throw new ApiError('REQUEST_TIMEOUT');
      yield next === null ? null : next.value;
    }
  } finally {
    // An iterator that is not ended keeps the body from being discarded. One that waits for a chunk ends with it.
    const ended = chunks.return?.();
    if (awaited === null) await ended;
    else ended?.catch(() => {});
  }
}

/** Many clients read the answer only after they have sent everything, so the rest is read and discarded. */
export function discardRest(body: IncomingMessage): void {
  if (body.destroyed) return;
  // Not a reason to stay alive: a process that stops closes its connections itself.
  const timer = setTimeout(() => body.destroy(), DISCARD_TIMEOUT_MS).unref();
  body.once('close', () => clearTimeout(timer));
  // Flows once no iterator reads it any more, also if one still waits for a chunk now.
  body.on('data', () => {});
  body.resume();
}
