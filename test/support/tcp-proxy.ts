import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** A TCP proxy that can stop to forward, as a network that drops packets: nothing arrives, and nothing is closed. */
export interface TcpProxy {
  readonly port: number;
  /** How many connections it has accepted. */
  accepted(): number;
  partition(): void;
  /** Forwards what was held back, as TCP sends again what was not acknowledged. */
  heal(): void;
  close(): Promise<void>;
}

/** `port` is a free one unless given. */
export async function startTcpProxy(targetPort: number, port = 0): Promise<TcpProxy> {
  const sockets = new Set<net.Socket>();
  let isPartitioned = false;
  let accepted = 0;
  const server = net.createServer((client) => {
    accepted += 1;
    const target = net.connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (chunk) => to.write(chunk));
      if (isPartitioned) from.pause();
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    accepted: () => accepted,
    partition() {
      isPartitioned = true;
      for (const socket of sockets) socket.pause();
    },
    heal() {
      isPartitioned = false;
      for (const socket of sockets) socket.resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
