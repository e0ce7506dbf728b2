import type { FastifyInstance } from 'fastify';
import { StartError } from '../lib/start-error.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The settings that they come from, for telling what to change. */
  readonly hostSetting: string;
  readonly portSetting: string;
}

/**
 * Starts listening; the address with the port that was taken.
 * @throws StartError when the address cannot be had.
 */
export async function listenAt(listener: FastifyInstance, address: ListenAddress): Promise<string> {
  const { host, port } = address;
  try {
    return await listener.listen({ host, port });
  } catch (error) {
    throw new StartError(explain(error, address), { cause: error });
  }
}

function explain(error: unknown, { host, port, hostSetting, portSetting }: ListenAddress): string {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is taken by another program: stop it, or set ${portSetting} to another port (0 takes a free one)`;
    case 'EACCES':
      return `this user may not listen on port ${port}: set ${portSetting} to a port from 1024 up`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine: change ${hostSetting}`;
    default:
      return `${hostSetting} ${host} and ${portSetting} ${port} cannot be listened on: ${error instanceof Error ? error.message : String(error)}`;
  }
}
