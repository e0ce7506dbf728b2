import type { Gauge } from 'prom-client';
import { createFailureLog } from '../observability/failure-log.ts';
import { type Backlog, readBacklog } from '../postgres/backlog.ts';
import type { Database } from '../postgres/database.ts';
import type { AppContext } from './app-context.ts';
import type { Services } from './services.ts';

/** Scrapes of several monitors share what was read from PostgreSQL. */
const BACKLOG_MAX_AGE_MS = 5_000;

/** Returns the function that brings the gauges up to date before a scrape. It never fails. */
export function createGaugeReader(
  { metrics: { gauges }, options }: AppContext,
  { postgres, inquiries }: Services,
): () => Promise<void> {
  const { log } = options.logging;
  const pools = { main: postgres.database, look_up: postgres.lookUpDatabase, delivery: postgres.deliveryDatabase };
  const failures = createFailureLog(log, 'reading the backlog for the metrics failed; will retry at the next scrape');
  const readRecent = shareFor(BACKLOG_MAX_AGE_MS, async () => {
    try {
      const backlog = await readBacklog(postgres.database);
      failures.succeeded();
      return backlog;
    } catch (error) {
      failures.failed(error);
      return null;
    }
  });

  function setBacklog(backlog: Backlog | null): void {
    for (const [name, gauge] of Object.entries(gauges.backlog) as [keyof Backlog, Gauge][]) {
      if (backlog === null) gauge.remove();
      else gauge.set(backlog[name]);
    }
  }

  function setConnections(pool: string, database: Database): void {
    const { total, idle, waiting } = database.connections();
    gauges.databaseConnections.set({ pool, state: 'idle' }, idle);
    gauges.databaseConnections.set({ pool, state: 'busy' }, total - idle);
    gauges.databaseWaiting.set({ pool }, waiting);
  }

  return async () => {
    for (const [pool, database] of Object.entries(pools)) setConnections(pool, database);
    // Rails may have been replaced since the last scrape.
    gauges.quotaLeft.reset();
    for (const { name: rail, quotaLeft } of inquiries.snapshot()) {
      for (const [window, left] of Object.entries(quotaLeft)) {
        if (left !== null) gauges.quotaLeft.set({ rail, window }, left);
      }
    }
    setBacklog(await readRecent());
  };
}

function shareFor<T>(maxAgeMs: number, read: () => Promise<T>): () => Promise<T> {
  let latest: { readonly sinceMs: number; readonly value: Promise<T> } | null = null;
  return () => {
    const nowMs = performance.now();
    if (latest === null || nowMs - latest.sinceMs > maxAgeMs) latest = { sinceMs: nowMs, value: read() };
    return latest.value;
  };
}
