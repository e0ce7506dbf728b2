import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import type pg from 'pg';

/** The network between the service and PostgreSQL, with what can go wrong on it. */
export interface PostgresProxy {
  /** To the database `tiba` through the proxy. */
  readonly connection: pg.ClientConfig;
  /** Whether COMMIT arrives and is carried out, and its reply is lost with the connection. */
  dropsCommitReplies: boolean;
  /** How many replies were lost. */
  droppedReplies(): number;
  /** What becomes of the connection for notifications, from now on. */
  setNotificationsMode(fate: NotificationsMode): void;
  close(): Promise<void>;
}

/** `cut` ends the connection and refuses new ones; `silent` keeps it and carries nothing over. */
export type NotificationsMode = 'carried' | 'cut' | 'silent';

// The startup message names the application (PostgreSQL's protocol, "StartupMessage").
const NOTIFICATIONS = Buffer.from('application_name\0tiba notifications\0');
// A simple query: the word and its closing zero byte.
const COMMIT = Buffer.from('commit\0');

export async function startPostgresProxy(socketPath: string): Promise<PostgresProxy> {
  const connections = new Set<net.Socket>();
  const notifications = new Set<net.Socket>();
  let fate: NotificationsMode = 'carried';
  let lostReplies = 0;

  const server = net.createServer((client) => {
    const upstream = net.connect(socketPath);
    let isNotifications = false;
    let losesNextReply = false;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    connections.add(client);
    for (const socket of [client, upstream]) {
      // An error is followed by `close`, and ends the other side too.
      socket.on('error', () => {});
      socket.on('close', () => {
        cut();
        connections.delete(client);
        notifications.delete(client);
      });
    }
    client.on('data', (chunk: Buffer) => {
      if (chunk.includes(NOTIFICATIONS)) {
        isNotifications = true;
        notifications.add(client);
      }
      if (isNotifications && fate === 'cut') return cut();
      if (isNotifications && fate === 'silent') return;
      losesNextReply = proxy.dropsCommitReplies && chunk.includes(COMMIT);
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (isNotifications && fate === 'silent') return;
      // PostgreSQL replies when it has committed.
      if (losesNextReply) {
        lostReplies += 1;
        return cut();
      }
      client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const proxy: PostgresProxy = {
    connection: {
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      user: 'tiba',
      password: '',
      database: 'tiba',
      ssl: false,
    },
    dropsCommitReplies: false,
    droppedReplies: () => lostReplies,
    setNotificationsMode(to) {
      fate = to;
      // What was silent cannot go on where it stopped: it ends when it is heard again.
      if (to !== 'silent') for (const socket of notifications) socket.destroy();
    },
    async close() {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
