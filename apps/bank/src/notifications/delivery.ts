import { setTimeout as pause } from 'node:timers/promises';
import { type Message, post } from './post.ts';
import { createSlots } from './slots.ts';

export interface Delivery {
  /**
   * Sends a message, again when it was not taken, at most three times. Messages about the same subject go out one after
   * the other. `write` makes the message anew for each try, because each carries its own time and signature.
   */
  send(subject: string, write: () => Message): void;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

const ATTEMPTS_MAX = 3;
const RETRY_DELAY_MS = 1000;
const RESPONSE_TIMEOUT_MS = 5000;
// A push of the clock makes thousands of notifications due at once; the receiver shall not get as many connections.
const CONCURRENT_POSTS_MAX = 16;

export function createDelivery(url: URL): Delivery {
  const closing = new AbortController();
  const slots = createSlots(CONCURRENT_POSTS_MAX);
  const lastBySubject = new Map<string, Promise<void>>();

  async function deliver(write: () => Message): Promise<void> {
    for (let attempt = 1; !closing.signal.aborted; attempt += 1) {
      if ((await slots.run(() => attemptOnce(write))) || attempt === ATTEMPTS_MAX) return;
      // Rejects only when the bank closes, which the loop then sees.
      await pause(RETRY_DELAY_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  async function attemptOnce(write: () => Message): Promise<boolean> {
    return closing.signal.aborted || post(url, write(), RESPONSE_TIMEOUT_MS, closing.signal);
  }

  return {
    send(subject, write) {
      const previous = lastBySubject.get(subject) ?? Promise.resolve();
      const last = previous
        .then(() => deliver(write))
        .finally(() => {
          if (lastBySubject.get(subject) === last) lastBySubject.delete(subject);
        });
      lastBySubject.set(subject, last);
    },
    async close() {
      closing.abort();
      await Promise.all(lastBySubject.values());
    },
  };
}
