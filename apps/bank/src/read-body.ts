import type { IncomingMessage } from 'node:http';

export const BODY_BYTES_MAX = 16 * 1024;

/**
 * Collects a request's body and calls `done` once: with the body, or with null as soon as it is longer than `bytesMax`.
 * A client that leaves before the end gets no call. A callback and not a promise: this runs for every request.
 */
export function readBody(request: IncomingMessage, bytesMax: number, done: (body: Buffer | null) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;

  function collect(chunk: Buffer): void {
    length += chunk.length;
    if (length > bytesMax) return finish(null);
    chunks.push(chunk);
  }

  function end(): void {
    const [first = Buffer.alloc(0)] = chunks;
    finish(chunks.length > 1 ? Buffer.concat(chunks, length) : first);
  }

  function finish(body: Buffer | null): void {
    request.off('data', collect).off('end', end);
    request.resume();
    done(body);
  }

  request.on('data', collect).on('end', end);
}
