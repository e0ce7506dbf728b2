import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { rsaKeys } from '../support/rsa-keys.ts';

export function portOf(server: ReturnType<typeof createServer>): number {
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

/**
 * Below the ports that Linux gives to outgoing connections, and to servers without a port of their own: one of those
 * could take the port before the service listens on it.
 */
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;

/**
 * The service logs only the public URL of clients, not the port that it listens on, so the test chooses the port. Until
 * this process ends, no other test gets it.
 */
export async function findFreePort(): Promise<number> {
  const port = randomInt(PORT_MIN, PORT_MAX + 1);
  // An abstract socket of Linux: all processes see its name, and it ends with the process.
  const reservation = createServer().unref();
  const server = createServer();
  const isFree = (await listens(reservation, `\0tiba-test-port-${port}`)) && (await listens(server, port));
  if (!isFree) reservation.close();
  if (server.listening) await once(server.close(), 'close');
  return isFree ? port : findFreePort();
}

async function listens(server: Server, address: string | number): Promise<boolean> {
  try {
    await once(typeof address === 'number' ? server.listen(address, '127.0.0.1') : server.listen(address), 'listening');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}

/** Writes a rails file with one bank, and its keys, into the directory; returns the required settings of production. */
export async function writeProductionSettings(
  directory: string,
  bankPort: number,
  clientSecret = 'the client secret',
): Promise<Record<string, string>> {
  const { privateKey } = rsaKeys();
  await writeFile(path.join(directory, 'secret.txt'), clientSecret);
  await writeFile(path.join(directory, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const rail = {
    name: 'bca',
    protocol: 'snap',
    base_url: `https://127.0.0.1:${bankPort}/openapi`,
    client_key: 'client-key',
    client_secret_file: 'secret.txt',
    private_key_file: 'key.pem',
    partner_id: 'TIBA',
    channel_id: '95221',
    own_bank: 'CENAIDJA',
    banks: '*',
  };
  await writeFile(path.join(directory, 'rails.json'), JSON.stringify({ rails: [rail] }));
  return {
    NODE_ENV: 'production',
    TIBA_PUBLIC_URL: 'https://api.example.com',
    TIBA_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    TIBA_RAILS_FILE: path.join(directory, 'rails.json'),
    TIBA_MIGRATE: 'yes',
  };
}
