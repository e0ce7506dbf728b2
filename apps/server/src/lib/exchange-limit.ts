import type { Socket } from 'node:net';

/** More bytes arrived in answer to one request than the limit allows. */
export class ExchangeTooLarge extends Error {
  constructor(bytesMax: number) {
    super(`more than ${bytesMax} bytes arrived in answer to one request`);
  }
}

/**
 * Closes a connection with an ExchangeTooLarge when more than `bytesMax` bytes arrive in answer to one request. It
 * counts every byte as it arrives. An HTTP parser does not report all of them: interim (1xx) replies, a long reason
 * phrase, chunk extensions and blank lines count neither as headers nor as body.
 *
 * For connections that carry one request at a time, without pipelining and HTTP/2. Call it before any byte is read.
 */
export function limitExchange(socket: Socket, bytesMax: number): void {
  let received = 0;
  let written = socket.bytesWritten;
  // Without this the listener would let bytes flow before the connection's user reads them.
  socket.pause();
  socket.on('data', (chunk: Buffer) => {
    if (socket.bytesWritten !== written) {
      // The next request was sent since.
      written = socket.bytesWritten;
      received = 0;
    }
    received += chunk.length;
    if (received > bytesMax) socket.destroy(new ExchangeTooLarge(bytesMax));
  });
}
