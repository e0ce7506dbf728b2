// The baseline for callbacks, the least that forwarding a change costs: one connection that listens to PostgreSQL, and
// a POST for each notification, with the same HTTP client as the service and nothing else.

import pg from 'pg';
import { Pool } from 'undici';
import { runAsChild } from '../as-child.ts';
import { startControlServer } from '../end-to-end/control.ts';
import { requireSteadyClock, wallMs } from '../end-to-end/timing.ts';

export interface BaselineForwarderSettings {
  readonly connectionString: string;
  readonly channel: string;
  /** The receiver's. */
  readonly url: string;
  /** POSTs in flight at most. */
  readonly concurrency: number;
  /** As long as a callback's. */
  readonly body: string;
}

export interface BaselineForwarderAddress {
  readonly controlUrl: string;
}

/** A notification's payload, and when it was received, in milliseconds since 1970. */
export type ReceivedNotification = readonly [payload: string, atMs: number];

export interface PostResult {
  readonly count: number;
  readonly seconds: number;
}

await runAsChild<BaselineForwarderAddress>(async (sent) => {
  const { connectionString, channel, url, concurrency, body } = sent as BaselineForwarderSettings;
  const pool = new Pool(new URL(url).origin, { connections: concurrency, pipelining: 1 });
  const client = new pg.Client({ connectionString });
  // A lost connection shows as missing notifications.
  client.on('error', () => {});
  await client.connect();
  let received: [string, number][] = [];

  const post = createPoster(pool, new URL(url).pathname, body);
  client.on('notification', ({ payload = '' }) => {
    received.push([payload, wallMs()]);
    post(payload).catch((error: unknown) =>
      process.stderr.write(`a POST of the baseline forwarder failed: ${String(error)}\n`),
    );
  });
  await client.query(`listen ${channel}`);

  async function postSequentially(name: string, untilMs: number): Promise<number> {
    let count = 0;
    for (; performance.now() < untilMs; count += 1) await post(`${name}_${count}`);
    return count;
  }

  const control = await startControlServer({
    /** The notifications received since the last call. */
    takeReceived(): ReceivedNotification[] {
      requireSteadyClock();
      const taken = received;
      received = [];
      return taken;
    },
    /** Posts for this many seconds, `concurrency` requests in parallel. */
    async post(seconds): Promise<PostResult> {
      const startedMs = performance.now();
      const untilMs = startedMs + Number(seconds) * 1000;
      const counts = await Promise.all(
        Array.from({ length: concurrency }, (_, index) => postSequentially(`baseline_${startedMs}_${index}`, untilMs)),
      );
      const count = counts.reduce((sum, each) => sum + each, 0);
      return { count, seconds: (performance.now() - startedMs) / 1000 };
    },
  });
  return {
    address: { controlUrl: control.url },
    async close() {
      control.close();
      await client.end();
      await pool.destroy();
    },
  };
});

function createPoster(pool: Pool, path: string, body: string): (id: string) => Promise<void> {
  return (id) =>
    new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'Tiba',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': `v1,${'A'.repeat(43)}=`,
      };
      pool.dispatch(
        { method: 'POST', path, headers, body },
        {
          // Optional by its type, but without it undici rejects the handler.
          onRequestStart: () => {},
          onResponseStart: () => {},
          onResponseData: () => {},
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
}
