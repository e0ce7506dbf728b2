import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** A TCP proxy between the service and PostgreSQL, which can cut all connections. */
export interface PostgresProxy {
  readonly port: number;
  cut(): void;
  close(): Promise<void>;
}

export async function startPostgresProxy(socketPath: string): Promise<PostgresProxy> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(socketPath);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      // An error is followed by `close`.
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
