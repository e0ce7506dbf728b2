// A client's receiver of callbacks that costs as little as possible: it records when each callback arrived, and answers
// at once unless it is paused.

import { createServer, type ServerResponse } from 'node:http';
import { listenOnLoopback, runAsChild } from '../as-child.ts';
import { startControlServer } from '../end-to-end/control.ts';
import { requireSteadyClock, wallMs } from '../end-to-end/timing.ts';

export interface CallbackReceiverAddress {
  readonly url: string;
  readonly controlUrl: string;
}

/** How many requests had arrived by then, in milliseconds since 1970. */
export interface RequestCount {
  readonly count: number;
  readonly atMs: number;
}

/** The webhook-id, and when it first arrived, in milliseconds since 1970. */
export type Arrival = readonly [id: string, atMs: number];

const KEEP_ALIVE_TIMEOUT_MS = 75_000;

await runAsChild<CallbackReceiverAddress>(async () => {
  let arrivals = new Map<string, number>();
  let count = 0;
  let paused: ServerResponse[] | null = null;

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    const atMs = wallMs();
    const id = String(request.headers['webhook-id']);
    if (!arrivals.has(id)) arrivals.set(id, atMs);
    count += 1;
    request.resume().once('end', () => {
      if (paused === null) response.end();
      else paused.push(response);
    });
  });
  const { url, close } = await listenOnLoopback(server);

  const control = await startControlServer({
    /** The arrivals since the last call. */
    takeArrivals(): Arrival[] {
      requireSteadyClock();
      const taken = [...arrivals];
      arrivals = new Map();
      return taken;
    },
    count: (): RequestCount => ({ count, atMs: wallMs() }),
    pause: () => {
      paused ??= [];
    },
    resume: () => {
      for (const response of paused ?? []) response.end();
      paused = null;
    },
  });
  return {
    address: { url, controlUrl: control.url },
    async close() {
      control.close();
      close();
    },
  };
});
