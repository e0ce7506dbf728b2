import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Service } from '../services.ts';
import type { FeedUpdate } from './feed-updates.ts';

/** Plays the disbursement core: it feeds the service through the same operation as any core. */
export interface Feeder {
  /** Sends one update in a request of its own. It must change the status of its transaction. */
  feed(update: FeedUpdate): Promise<void>;
  /** Sends any number of updates in one request. Each must change the status of its transaction. */
  feedAll(updates: readonly FeedUpdate[]): Promise<void>;
  close(): Promise<void>;
}

interface FeedReport {
  readonly inserted: number;
  readonly advanced: number;
  readonly unchanged: number;
}

const CONNECTIONS = 16;
const RETRY_MS = 200;
const ATTEMPTS_MAX = 50;

export function createFeeder({ address }: Service, signal: AbortSignal): Feeder {
  const pool = new Pool(address.operatorUrl, { connections: CONNECTIONS, pipelining: 1 });

  /** Repeats the request while the response is 503, as docs/feed.md says: no update is applied twice. */
  async function post(type: string, body: string, count: number): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await pool.request({
        method: 'POST',
        path: '/feed/v1/transactions',
        headers: { authorization: `Bearer ${address.token}`, 'content-type': type },
        body,
        signal,
      });
      const text = await response.body.text();
      if (response.statusCode === 200) {
        const { inserted, advanced, unchanged } = (JSON.parse(text) as { readonly data: FeedReport }).data;
        if (inserted + advanced + (attempt > 1 ? unchanged : 0) === count) return;
      }
      if (response.statusCode !== 503 || attempt === ATTEMPTS_MAX)
        throw new Error(`the feed answered ${response.statusCode}: ${text}`);
      await wait(RETRY_MS, undefined, { signal });
    }
  }

  return {
    feed: (update) => post('application/json', JSON.stringify(update), 1),
    feedAll: (updates) =>
      updates.length === 0
        ? Promise.resolve()
        : post('application/x-ndjson', updates.map((update) => JSON.stringify(update)).join('\n'), updates.length),
    close: () => pool.destroy(),
  };
}
