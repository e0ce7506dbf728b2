import { inTime } from '../valkey/in-time.ts';

/** A worker that may hold leases. */
export interface LeaseHolder {
  /** Orders it to give back what it has of a window. */
  recall(key: string): void;
}

/** The leases that workers were ordered to give back. */
export interface LeaseRecalls {
  /** See `LeaseStore.recall`. */
  recall(keys: readonly string[]): Promise<void>;
  /** Whether a request waits for the leases of a window. */
  isWaiting(key: string): boolean;
  /** The worker holds nothing of the window any more. */
  onGivenBack(holder: LeaseHolder, key: string): void;
  onMessage(holder: LeaseHolder): void;
}

interface Recall {
  readonly ended: Promise<void>;
  /** Those that have not given back. */
  readonly waitingFor: Set<LeaseHolder>;
  readonly onAllGivenBack: () => void;
}

/**
 * Until a worker that does not give back in time does so, what it holds counts as admitted, and nothing waits for it.
 * Shorter than the time for which the worker that asks waits (valkey/shared-windows.ts).
 */
const RECALL_TIMEOUT_MS = 20;

/** `holdersOf`: the workers that hold leases of a window. */
export function createLeaseRecalls(
  holdersOf: (key: string) => readonly LeaseHolder[],
  timeoutMs = RECALL_TIMEOUT_MS,
): LeaseRecalls {
  const recalls = new Map<string, Recall>();
  /** How many recalls wait for a window, alone or together with others. */
  const waiting = new Map<string, number>();
  /** Workers that did not give back in time, until they send something. */
  const silent = new WeakSet<LeaseHolder>();

  function recallOne(key: string): Promise<void> {
    const running = recalls.get(key);
    if (running !== undefined) return running.ended;
    const holders = holdersOf(key).filter((holder) => !silent.has(holder));
    if (holders.length === 0) return Promise.resolve();
    const waitingFor = new Set(holders);
    const allGivenBack = Promise.withResolvers<void>();
    const giveUp = (): void => {
      for (const holder of waitingFor) silent.add(holder);
      recalls.delete(key);
    };
    const ended = inTime(allGivenBack.promise, timeoutMs).catch(giveUp);
    recalls.set(key, { ended, waitingFor, onAllGivenBack: allGivenBack.resolve });
    for (const holder of holders) holder.recall(key);
    return ended;
  }

  function count(keys: readonly string[], by: number): void {
    for (const key of keys) {
      const waits = (waiting.get(key) ?? 0) + by;
      if (waits === 0) waiting.delete(key);
      else waiting.set(key, waits);
    }
  }

  return {
    async recall(keys) {
      count(keys, 1);
      await Promise.all(keys.map(recallOne));
      // What waits runs before the next message is read.
      count(keys, -1);
    },
    isWaiting: (key) => waiting.has(key),
    onGivenBack(holder, key) {
      const recall = recalls.get(key);
      if (recall?.waitingFor.delete(holder) !== true || recall.waitingFor.size > 0) return;
      // At once: a recall from now on is another one.
      recalls.delete(key);
      recall.onAllGivenBack();
    },
    onMessage: (holder) => void silent.delete(holder),
  };
}
