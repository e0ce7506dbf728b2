// A client's receiver of callbacks that costs as little as one can: it notes when each arrived, and answers at once, unless
// it was told to hold its answers back.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { addressOf } from '../address-of.ts';
import { liveAsChild } from '../as-child.ts';
import { requireSteadyClock, wallMs } from '../end-to-end/clock.ts';
import { startControl } from '../end-to-end/control.ts';

export interface CallbackReceiverAddress {
  readonly url: string;
  readonly controlUrl: string;
}

/** How many requests there have been by then. */
export interface Count {
  readonly count: number;
  readonly atMs: number;
}

/** The webhook-id, and when it first arrived, in milliseconds since 1970. */
export type Arrival = readonly [id: string, atMs: number];

const KEEP_ALIVE_TIMEOUT_MS = 75_000;

await liveAsChild<CallbackReceiverAddress>(async () => {
  let arrivals = new Map<string, number>();
  let count = 0;
  let held: ServerResponse[] | null = null;

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    const atMs = wallMs();
    const id = String(request.headers['webhook-id']);
    if (!arrivals.has(id)) arrivals.set(id, atMs);
    count += 1;
    request.resume().once('end', () => {
      if (held === null) response.end();
      else held.push(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const control = await startControl({
    /** What has arrived since this was last asked. */
    arrivals(): Arrival[] {
      requireSteadyClock();
      const taken = [...arrivals];
      arrivals = new Map();
      return taken;
    },
    count: (): Count => ({ count, atMs: wallMs() }),
    hold: () => {
      held ??= [];
    },
    release: () => {
      for (const response of held ?? []) response.end();
      held = null;
    },
  });
  return {
    address: { url: addressOf(server), controlUrl: control.url },
    async close() {
      control.close();
      server.close();
      server.closeAllConnections();
    },
  };
});
