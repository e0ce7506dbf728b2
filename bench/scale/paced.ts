import { Pool } from 'undici';
import { percentiles } from '../end-to-end/figures.ts';

export interface PacedRun {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly nextPath: () => string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

export interface PacedResult {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

const CONNECTIONS = 64;
const TICK_MS = 5;

/**
 * Sends requests at a pace that does not depend on the answers, so that a stall of the service counts with every
 * request that it delays. @throws Error when one is not answered with 200
 */
export async function runPaced(run: PacedRun): Promise<PacedResult> {
  const pool = new Pool(run.origin, { connections: CONNECTIONS, pipelining: 1 });
  const durationsMs: number[] = [];
  const inFlight = new Set<Promise<void>>();
  let failure: unknown;

  async function send(): Promise<void> {
    const startedMs = performance.now();
    const { statusCode, body } = await pool.request({ path: run.nextPath(), method: 'GET', headers: run.headers });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`a status check was answered ${statusCode}: ${text}`);
    durationsMs.push(performance.now() - startedMs);
  }

  const startedMs = performance.now();
  let sent = 0;
  const ended = Promise.withResolvers<void>();
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedMs;
    const due = Math.min(elapsedMs / 1_000, run.seconds) * run.perSecond;
    for (; sent < due; sent += 1) {
      const request = send().catch((error: unknown) => void (failure ??= error));
      inFlight.add(request);
      void request.then(() => inFlight.delete(request));
    }
    if (elapsedMs >= run.seconds * 1_000 || run.signal.aborted || failure !== undefined) ended.resolve();
  }, TICK_MS);
  try {
    await ended.promise;
    await Promise.all(inFlight);
  } finally {
    clearInterval(timer);
    await pool.close();
  }
  run.signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  const seconds = (performance.now() - startedMs) / 1_000;
  return { ...percentiles(durationsMs), perSecond: durationsMs.length / seconds };
}
