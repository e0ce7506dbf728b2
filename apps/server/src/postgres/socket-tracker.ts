import { Socket } from 'node:net';

/** The sockets of connections to PostgreSQL, for hanging up on a server that is frozen: it never says goodbye. */
export interface SocketTracker {
  /** `pg.ClientConfig.stream` */
  readonly stream: () => Socket;
  /** Waits some time for goodbyes, and then hangs up: an open socket would keep the process from ending. */
  close(sayGoodbye: () => Promise<unknown>): Promise<void>;
}

const GOODBYE_TIMEOUT_MS = 2_000;

export function createSocketTracker(): SocketTracker {
  const sockets = new Set<Socket>();
  return {
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
    async close(sayGoodbye) {
      const goodbye = sayGoodbye();
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, GOODBYE_TIMEOUT_MS);
      await Promise.all([goodbye, ...Array.from(sockets, closed)]).finally(() => clearTimeout(timer));
    },
  };
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));
