import { type OutgoingHttpHeaders, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface Delivery {
  /**
   * Sends a message, at most three times until a 2xx accepts it. Messages about the same subject are sent one after the
   * other. `createMessage` creates the message for each attempt, because each has its own time and signature.
   */
  send(subject: string, createMessage: () => Message): void;
  /** Cancels all running deliveries. */
  close(): Promise<void>;
}

const ATTEMPTS_MAX = 3;
const RETRY_DELAY_MS = 1000;
const RESPONSE_TIMEOUT_MS = 5000;
// Advancing the clock makes thousands of notifications due at once; this limits the connections to the receiver.
const CONCURRENT_POSTS_MAX = 16;

export function createDelivery(url: URL): Delivery {
  const closing = new AbortController();
  const slots = createSlots(CONCURRENT_POSTS_MAX);
  const lastBySubject = new Map<string, Promise<void>>();

  async function deliver(createMessage: () => Message): Promise<void> {
    for (let attempt = 1; !closing.signal.aborted; attempt += 1) {
      if ((await slots.run(() => attemptOnce(createMessage))) || attempt === ATTEMPTS_MAX) return;
      // Rejects only when the bank closes; the loop condition then ends the loop.
      await pause(RETRY_DELAY_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  async function attemptOnce(createMessage: () => Message): Promise<boolean> {
    return closing.signal.aborted || post(url, createMessage(), RESPONSE_TIMEOUT_MS, closing.signal);
  }

  return {
    send(subject, createMessage) {
      const previous = lastBySubject.get(subject) ?? Promise.resolve();
      const last = previous
        .then(() => deliver(createMessage))
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
 * Sends one POST; resolves to whether a 2xx response arrived in time. Follows no redirect: the address was checked, the
 * target of a redirect was not.
 */
function post(url: URL, message: Message, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const headers = { ...message.headers, 'Content-Length': Buffer.byteLength(message.body) };
  // A new connection each time: the receiver may close an idle connection at the moment it is reused.
  const outgoing = request(url, { method: 'POST', headers, agent: false, signal });
  const timer = setTimeout(() => outgoing.destroy(), timeoutMs);
  outgoing.once('response', (response) => {
    const status = response.statusCode ?? 0;
    resolve(status >= 200 && status < 300);
    response.on('error', () => {}).resume();
  });
  // Every failure is followed by "close", which resolves the promise.
  outgoing.on('error', () => {});
  outgoing.once('close', () => {
    clearTimeout(timer);
    resolve(false);
  });
  outgoing.end(message.body);
  return promise;
}

/** Limits the number of concurrent tasks; the others wait in a queue. */
interface Slots {
  run<Result>(task: () => Promise<Result>): Promise<Result>;
}

function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;

  return {
    async run(task) {
      // A released slot passes directly to the first waiting task, so `free` does not change there.
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
