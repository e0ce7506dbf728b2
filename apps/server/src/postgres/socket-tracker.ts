import { Socket } from 'node:net';

/**
 * The sockets of connections to PostgreSQL. A frozen server never answers a terminate message; its sockets are closed.
 */
export interface SocketTracker {
  /** For `pg.ClientConfig.stream`. */
  readonly stream: () => Socket;
  /**
   * Calls `terminate`, which ends the connections in order, and waits until their sockets are closed. After a timeout
   * it destroys the sockets that are left: an open socket would keep the process from ending.
   */
  close(terminate: () => Promise<unknown>): Promise<void>;
}

const TERMINATE_TIMEOUT_MS = 2_000;

export function createSocketTracker(): SocketTracker {
  const sockets = new Set<Socket>();
  return {
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
    async close(terminate) {
      const terminated = terminate();
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, TERMINATE_TIMEOUT_MS);
      await Promise.all([terminated, ...Array.from(sockets, closed)]).finally(() => clearTimeout(timer));
    },
  };
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));
