// The measure of what carrying a change costs at least: one connection that listens to PostgreSQL, and a POST for each
// change, with the same HTTP client and nothing around it.

import pg from 'pg';
import { Pool } from 'undici';
import { liveAsChild } from '../as-child.ts';
import { requireSteadyClock, wallMs } from '../end-to-end/clock.ts';
import { startControl } from '../end-to-end/control.ts';

export interface BareCarrierSettings {
  readonly connectionString: string;
  readonly channel: string;
  /** Where it posts to. */
  readonly url: string;
  /** Posts at once. */
  readonly places: number;
  /** What it posts: as long as a callback. */
  readonly body: string;
}

export interface BareCarrierAddress {
  readonly controlUrl: string;
}

/** The payload, and when it was heard, in milliseconds since 1970. */
export type Heard = readonly [payload: string, atMs: number];

export interface Posted {
  readonly count: number;
  readonly seconds: number;
}

await liveAsChild<BareCarrierAddress>(async (sent) => {
  const { connectionString, channel, url, places, body } = sent as BareCarrierSettings;
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections: places, pipelining: 1 });
  const client = new pg.Client({ connectionString });
  // Its loss shows in what is not heard.
  client.on('error', () => {});
  await client.connect();
  let heard: [string, number][] = [];

  const post = (id: string): Promise<void> =>
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
          // Optional by its type, but without it undici refuses the handler.
          onRequestStart: () => {},
          onResponseStart: () => {},
          onResponseData: () => {},
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });

  client.on('notification', ({ payload = '' }) => {
    heard.push([payload, wallMs()]);
    post(payload).catch((error: unknown) =>
      process.stderr.write(`the bare carrier could not post: ${String(error)}\n`),
    );
  });
  await client.query(`listen ${channel}`);

  async function postInARow(name: string, untilMs: number): Promise<number> {
    let count = 0;
    for (; performance.now() < untilMs; count += 1) await post(`${name}_${count}`);
    return count;
  }

  const control = await startControl({
    /** What has been heard since this was last asked. */
    heard(): Heard[] {
      requireSteadyClock();
      const taken = heard;
      heard = [];
      return taken;
    },
    /** Posts for so many seconds, one after the other in each place. */
    async post(given): Promise<Posted> {
      const startedMs = performance.now();
      const untilMs = startedMs + Number(given) * 1000;
      const rows = Array.from({ length: places }, (_, place) => postInARow(`bare_${startedMs}_${place}`, untilMs));
      const count = (await Promise.all(rows)).reduce((sum, each) => sum + each, 0);
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
