import { type OutgoingHttpHeaders, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

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

export interface Message {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/**
 * Sends one POST and says whether it was answered with 2xx in time. Follows no redirect: the address was checked, the
 * one that a redirect names was not.
 */
function post(url: URL, message: Message, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const headers = { ...message.headers, 'Content-Length': Buffer.byteLength(message.body) };
  // A connection of its own each time: one that is kept may be closed by the other side just when it is used again.
  const outgoing = request(url, { method: 'POST', headers, agent: false, signal });
  const timer = setTimeout(() => outgoing.destroy(), timeoutMs);
  outgoing.once('response', (response) => {
    const status = response.statusCode ?? 0;
    resolve(status >= 200 && status < 300);
    response.on('error', () => {}).resume();
  });
  // Whatever went wrong, "close" comes after it.
  outgoing.on('error', () => {});
  outgoing.once('close', () => {
    clearTimeout(timer);
    resolve(false);
  });
  outgoing.end(message.body);
  return promise;
}

/** Lets a limited number of tasks run at once; the others wait in line. */
export interface Slots {
  run<Result>(task: () => Promise<Result>): Promise<Result>;
}

function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;

  return {
    async run(task) {
      // A slot that is given back goes straight to the first in line, hence no counting there.
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await task();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
