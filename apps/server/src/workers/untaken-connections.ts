import type { ChildProcess } from 'node:child_process';

interface Connection {
  close(): void;
}

/**
 * Closes the connections that a worker was given and had not taken when it ended: one at most for each listener,
 * because it is given the next one when it has taken the last. node:cluster forgets them. They would stay open, and
 * their clients would wait for an answer until they give up.
 *
 * This relies on three members of node:cluster that are not documented: `seq` of the message with a connection, and
 * `ack` of the answer to it, which is an 'internalMessage'. test/workers/supervisor.test.ts fails where a version of
 * Node changes them.
 */
export function closeUntakenConnections(worker: ChildProcess): void {
  const given = new Map<number, Connection>();
  const send = worker.send.bind(worker) as (...args: unknown[]) => boolean;
  worker.send = (...args: unknown[]) => {
    const [message, connection] = args as [{ readonly seq?: number }, Connection | null | undefined];
    if (message.seq !== undefined && connection) given.set(message.seq, connection);
    return send(...args);
  };
  worker.on('internalMessage', ({ ack }: { readonly ack?: number }) => {
    if (ack !== undefined) given.delete(ack);
  });
  const close = (): void => {
    for (const connection of given.values()) connection.close();
    given.clear();
  };
  worker.once('exit', close);
  // Until then it may be given others.
  worker.once('disconnect', close);
}
