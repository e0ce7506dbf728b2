import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import type pg from 'pg';

/** A TCP proxy between the service and PostgreSQL that injects network faults. */
export interface PostgresProxy {
  /** To the database `tiba` through the proxy. */
  readonly connection: pg.ClientConfig;
  /**
   * The text of a simple query, such as `commit`, or the name of a prepared statement: PostgreSQL receives and executes
   * it, and its reply is lost with the connection. Null forwards all replies.
   */
  dropsRepliesTo: string | null;
  /** How many replies were dropped. */
  droppedReplies(): number;
  /** Sets what happens to the connection for notifications from now on. */
  setNotificationsMode(mode: NotificationsMode): void;
  close(): Promise<void>;
}

/** `cut` closes the connection and refuses new ones; `silent` keeps it open and forwards nothing. */
export type NotificationsMode = 'forwarded' | 'cut' | 'silent';

// The startup message contains the application's name (PostgreSQL protocol, "StartupMessage").
const NOTIFICATIONS = Buffer.from('application_name\0tiba notifications\0');

export async function startPostgresProxy(socketPath: string): Promise<PostgresProxy> {
  const state: ProxyState = {
    connections: new Set(),
    notifications: new Set(),
    mode: 'forwarded',
    dropsRepliesTo: null,
    droppedReplies: 0,
  };
  const server = net.createServer((client) => forward(state, client, net.connect(socketPath)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    connection: {
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      user: 'tiba',
      password: '',
      database: 'tiba',
      ssl: false,
    },
    get dropsRepliesTo() {
      return state.dropsRepliesTo;
    },
    set dropsRepliesTo(statement) {
      state.dropsRepliesTo = statement;
    },
    droppedReplies: () => state.droppedReplies,
    setNotificationsMode(mode) {
      state.mode = mode;
      // A connection that was silent has lost bytes and cannot continue, so it is closed.
      if (mode !== 'silent') for (const socket of state.notifications) socket.destroy();
    },
    async close() {
      for (const socket of state.connections) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

interface ProxyState {
  readonly connections: Set<net.Socket>;
  /** Of these, the connections for notifications. */
  readonly notifications: Set<net.Socket>;
  mode: NotificationsMode;
  dropsRepliesTo: string | null;
  droppedReplies: number;
}

function forward(state: ProxyState, client: net.Socket, upstream: net.Socket): void {
  let isNotifications = false;
  let dropsNextReply = false;
  const cut = (): void => {
    client.destroy();
    upstream.destroy();
  };
  state.connections.add(client);
  for (const socket of [client, upstream]) {
    // An error is followed by `close`, which closes the other side too.
    socket.on('error', () => {});
    socket.on('close', () => {
      cut();
      state.connections.delete(client);
      state.notifications.delete(client);
    });
  }
  client.on('data', (chunk: Buffer) => {
    if (chunk.includes(NOTIFICATIONS)) {
      isNotifications = true;
      state.notifications.add(client);
    }
    if (isNotifications && state.mode === 'cut') return cut();
    if (isNotifications && state.mode === 'silent') return;
    // In the messages "Query" and "Bind", a zero byte ends the text or the name.
    dropsNextReply = state.dropsRepliesTo !== null && chunk.includes(`${state.dropsRepliesTo}\0`);
    upstream.write(chunk);
  });
  upstream.on('data', (chunk: Buffer) => {
    if (isNotifications && state.mode === 'silent') return;
    // PostgreSQL replies after it has committed, also where a statement is a transaction of its own.
    if (dropsNextReply) {
      state.droppedReplies += 1;
      return cut();
    }
    client.write(chunk);
  });
}
