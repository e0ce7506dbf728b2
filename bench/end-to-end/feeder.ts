import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Service } from '../services.ts';
import type { Word } from './feed-lines.ts';

/** The disbursement core: it feeds the service through the operation that any core uses. */
export interface Feeder {
  /** One word in a request of its own. It must move its transaction on. */
  tell(word: Word): Promise<void>;
  /** Any number of words, none of which may be refused. */
  tellAll(words: readonly Word[]): Promise<void>;
  close(): Promise<void>;
}

interface FeedReport {
  readonly inserted: number;
  readonly advanced: number;
  readonly unchanged: number;
}

const CONNECTIONS = 16;
const REPEAT_MS = 200;
const TRIES_MAX = 50;

export function createFeeder({ address }: Service, signal: AbortSignal): Feeder {
  const pool = new Pool(address.operatorUrl, { connections: CONNECTIONS, pipelining: 1 });

  /** Says it again while the store cannot take it, as docs/feed.md has it: nothing is applied twice. */
  async function feed(type: string, body: string, count: number): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const { statusCode, body: answer } = await pool.request({
        method: 'POST',
        path: '/feed/v1/transactions',
        headers: { authorization: `Bearer ${address.token}`, 'content-type': type },
        body,
        signal,
      });
      const text = await answer.text();
      if (statusCode === 200) {
        const { inserted, advanced, unchanged } = (JSON.parse(text) as { readonly data: FeedReport }).data;
        if (inserted + advanced + (tries > 1 ? unchanged : 0) === count) return;
      }
      if (statusCode !== 503 || tries === TRIES_MAX) throw new Error(`the feed answered ${statusCode}: ${text}`);
      await wait(REPEAT_MS, undefined, { signal });
    }
  }

  return {
    tell: (word) => feed('application/json', JSON.stringify(word), 1),
    tellAll: (words) =>
      words.length === 0
        ? Promise.resolve()
        : feed('application/x-ndjson', words.map((word) => JSON.stringify(word)).join('\n'), words.length),
    close: () => pool.destroy(),
  };
}
