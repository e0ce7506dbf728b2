/** A client may have this fraction of the queue: a client whose uploads are slow to read delays only its own. */
const CLIENT_SHARE = 4;

/** Slots for reading uploads, one for each client at most. */
export interface ReaderSlots {
  /** Resolves when the client has a slot; null when the queue is full. */
  acquire(clientId: string): Promise<void> | null;
  /** Passes the slot to the next client in the queue. */
  release(clientId: string): void;
}

export function createReaderSlots(slotsMax: number, queueMax: number): ReaderSlots {
  const inUse = new Set<string>();
  /** The queue of each client, in the order in which the clients are served. */
  const queues = new Map<string, (() => void)[]>();
  const ofClientMax = Math.ceil(queueMax / CLIENT_SHARE);
  let queuedCount = 0;

  function serve(): void {
    for (const [clientId, queue] of queues) {
      if (inUse.size >= slotsMax) return;
      if (inUse.has(clientId)) continue;
      const next = queue.shift();
      if (queue.length === 0) queues.delete(clientId);
      queuedCount -= 1;
      inUse.add(clientId);
      next?.();
    }
  }

  return {
    acquire(clientId) {
      // While a slot is free, every client in the queue has one already.
      if (inUse.size < slotsMax && !inUse.has(clientId)) {
        inUse.add(clientId);
        return Promise.resolve();
      }
      const queue = queues.get(clientId) ?? [];
      if (queuedCount >= queueMax || queue.length >= ofClientMax) return null;
      queues.set(clientId, queue);
      queuedCount += 1;
      return new Promise((resolve) => {
        queue.push(resolve);
      });
    },
    release(clientId) {
      inUse.delete(clientId);
      // A client that was served comes after all clients that wait now.
      const queue = queues.get(clientId);
      queues.delete(clientId);
      if (queue !== undefined) queues.set(clientId, queue);
      serve();
    },
  };
}
