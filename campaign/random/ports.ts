import { once } from 'node:events';
import { createServer } from 'node:net';

const LOWEST = 10_240;
const HIGHEST = 32_000;
const ATTEMPTS = 100;

/**
 * A free port below those that the system gives to outgoing connections (Linux: from 32768). A server that is down for
 * a moment would otherwise find its port taken by one of the many connections of the campaign.
 */
export async function findLastingPort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${LOWEST} to ${HIGHEST}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch {
    return false;
  }
}
