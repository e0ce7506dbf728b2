import type { Server } from 'node:net';

/** Of a server that listens on TCP, such as `http://127.0.0.1:40123`. */
export function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return `http://127.0.0.1:${address.port}`;
}
