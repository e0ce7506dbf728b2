import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

const PACE_BYTES_PER_SECOND = 8 * 1024;
const CHECK_INTERVAL_MS = 1_000;

interface Unread {
  sinceMs: number;
  /** Bytes that had left this process then. */
  flushedBytes: number;
}

/**
 * Disconnects clients that read an answer too slowly, or not at all: until it is read, the answer is held in memory. An
 * answer that fits into the kernel's buffer is not held, and a stream that waits for its next event has nothing unread.
 *
 * @param graceMs A client that has not read an answer after this time must be reading it at `PACE_BYTES_PER_SECOND`.
 */
export function disconnectSlowReaders(server: Server, graceMs: number): void {
  const unread = new Map<Socket, Unread | null>();
  // The socket below TLS knows nothing of what waits in TLS.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    unread.set(socket, null);
    socket.once('close', () => unread.delete(socket));
  });
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const [socket, since] of unread) {
      const pendingBytes = socket.writableLength;
      const flushedBytes = socket.bytesWritten - pendingBytes;
      if (pendingBytes === 0) {
        if (since !== null) unread.set(socket, null);
      } else if (since === null) {
        unread.set(socket, { sinceMs: nowMs, flushedBytes });
      } else {
        const owedBytes = flushedBytes - since.flushedBytes + pendingBytes;
        if (nowMs > since.sinceMs + graceMs + (owedBytes / PACE_BYTES_PER_SECOND) * 1000) socket.destroy();
      }
    }
  }, CHECK_INTERVAL_MS).unref();
  server.once('close', () => clearInterval(timer));
}
