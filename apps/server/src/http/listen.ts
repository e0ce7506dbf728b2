import { once } from 'node:events';
import { createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { StartError } from '../lib/start-error.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The names of the settings they come from, for the error message. */
  readonly hostSetting: string;
  readonly portSetting: string;
}

/**
 * Starts listening. Resolves with the URL, with the actual port.
 * @throws StartError when the address is not available
 */
export async function listenAt(listener: FastifyInstance, address: ListenAddress): Promise<string> {
  const { host, port } = address;
  try {
    return await listener.listen({ host, port });
  } catch (error) {
    throw new StartError(explain(error, address), { cause: error });
  }
}

/**
 * For a start that would otherwise change files before it finds that it cannot listen.
 * @throws StartError with all addresses that are not available
 */
export async function requireFree(addresses: readonly ListenAddress[]): Promise<void> {
  const faults = await Promise.all(addresses.map(faultOf));
  const found = faults.filter((fault) => fault !== null);
  if (found.length > 0) throw new StartError(found.join('\n'));
}

async function faultOf(address: ListenAddress): Promise<string | null> {
  const server = createServer();
  try {
    await once(server.listen({ host: address.host, port: address.port }), 'listening');
    return null;
  } catch (error) {
    return explain(error, address);
  } finally {
    server.close();
  }
}

function explain(error: unknown, { host, port, hostSetting, portSetting }: ListenAddress): string {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return (
        `port ${port} on ${host} is taken by another program: stop it, or set ${portSetting} to another port ` +
        '(0 for any free port)'
      );
    case 'EACCES':
      return `this user may not listen on port ${port}: set ${portSetting} to a port from 1024 up`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine: change ${hostSetting}`;
    default:
      return `cannot listen on ${hostSetting} ${host} and ${portSetting} ${port}: ${messageOf(error)}`;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
