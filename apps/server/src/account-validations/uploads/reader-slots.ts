/** What a client may have of those that wait: who fills it with uploads that are slow to read waits for himself alone. */
const WAITING_SHARE = 4;

/** Places for a few at a time, one for each client at most. */
export interface ReaderSlots {
  /** Resolves when the client has a place; null when too many wait. */
  acquire(clientId: string): Promise<void> | null;
  /** Hands the place on. */
  release(clientId: string): void;
}

export function createReaderSlots(atOnceMax: number, waitingMax: number): ReaderSlots {
  const taken = new Set<string>();
  /** Of each client, in the order in which they are served. */
  const waiting = new Map<string, (() => void)[]>();
  const ofClientMax = Math.ceil(waitingMax / WAITING_SHARE);
  let waitingCount = 0;

  function serve(): void {
    for (const [clientId, queue] of waiting) {
      if (taken.size >= atOnceMax) return;
      if (taken.has(clientId)) continue;
      const next = queue.shift();
      if (queue.length === 0) waiting.delete(clientId);
      waitingCount -= 1;
      taken.add(clientId);
      next?.();
    }
  }

  return {
    acquire(clientId) {
      // While a place is free, whoever waits has one already.
      if (taken.size < atOnceMax && !taken.has(clientId)) {
        taken.add(clientId);
        return Promise.resolve();
      }
      const queue = waiting.get(clientId) ?? [];
      if (waitingCount >= waitingMax || queue.length >= ofClientMax) return null;
      waiting.set(clientId, queue);
      waitingCount += 1;
      return new Promise((resolve) => {
        queue.push(resolve);
      });
    },
    release(clientId) {
      taken.delete(clientId);
      // Whoever has been served comes after all who wait now.
      const queue = waiting.get(clientId);
      waiting.delete(clientId);
      if (queue !== undefined) waiting.set(clientId, queue);
      serve();
    },
  };
}
