import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { type Listener, listenOnLoopback } from '../support/http-receiver.ts';

/** Accepts TCP connections on 127.0.0.1; the test writes every byte of the answer itself. */
export async function startTcpReceiver(
  context: TestContext,
  onConnection: (socket: Socket) => void = () => undefined,
): Promise<Listener> {
  const listener = await listenOnLoopback(createServer(onConnection));
  context.after(listener.close);
  return listener;
}

export interface ForbiddenReceiver {
  readonly port: number;
  /** How many connections were made to it until now. */
  countConnections(): Promise<number>;
}

/** Listens on 127.0.0.1 and, where the machine has it, on ::1, at the same port. No connection should ever arrive. */
export async function startForbiddenReceiver(context: TestContext): Promise<ForbiddenReceiver> {
  const ipv4 = await startTcpReceiver(context);
  const ipv6 = await listenOnLoopback(createServer(), '::1', ipv4.port).catch(() => null);
  if (ipv6 !== null) context.after(ipv6.close);

  let probes = 0;
  return {
    port: ipv4.port,
    async countConnections() {
      const counts = [
        await countWithProbe('127.0.0.1', ipv4),
        ...(ipv6 === null ? [] : [await countWithProbe('::1', ipv6)]),
      ];
      const total = counts.reduce((sum, count) => sum + count, 0) - probes;
      probes += counts.length;
      return total;
    },
  };
}

/**
 * The connections before this call, earlier probes included. Connections are accepted in order: once the probe has
 * arrived, so have all that were made before it.
 */
async function countWithProbe(host: string, { connections, port }: Listener): Promise<number> {
  const probe = connect({ host, port });
  await once(probe, 'connect');
  const arrived = (): boolean => connections.some(({ remotePort }) => remotePort === probe.localPort);
  while (!arrived()) await new Promise(setImmediate);
  probe.destroy();
  return connections.length - 1;
}
