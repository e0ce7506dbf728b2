import { send } from '../../test/support/requests.ts';
import type { Processes } from './setting.ts';

/** One request, on this process's monotonic clock. */
export interface Exchange {
  readonly status: number;
  readonly sentMs: number;
  readonly answeredMs: number;
}

export type Request = (url: string, index: number) => Promise<{ readonly status: number }>;

export const statusCheck =
  (token: string): Request =>
  (url) =>
    send(`${url}/api/v1/check-status/TB0000000001`, { headers: { authorization: `Bearer ${token}` } });

/** `accountOf`: the number of the account of each request. */
export const accountCheck =
  (token: string, accountOf: (index: number) => number): Request =>
  (url, index) =>
    send(`${url}/api/v1/check-account`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ bank_code: 'BRI', account_number: String(accountOf(index)) }),
    });

export interface Load {
  readonly request: Request;
  readonly inFlight: number;
  /** Whether to send one more. */
  readonly mayContinue: (sent: number) => boolean;
  /** Pauses after each answer. */
  readonly pause?: () => Promise<unknown>;
}

/** Spreads requests over the processes in turn. */
export async function sendAll(
  { all }: Processes,
  { request, inFlight, mayContinue, pause }: Load,
): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (mayContinue(next)) {
      const index = next;
      next += 1;
      const sentMs = performance.now();
      const { status } = await request(all[index % all.length]?.url ?? '', index);
      exchanges.push({ status, sentMs, answeredMs: performance.now() });
      await pause?.();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return exchanges;
}

export const sendCount = (processes: Processes, request: Request, count: number, inFlight = 64): Promise<Exchange[]> =>
  sendAll(processes, { request, inFlight, mayContinue: (sent) => sent < count });

/** Those that no limit refused. */
export const admittedOf = (exchanges: readonly Exchange[]): readonly Exchange[] =>
  exchanges.filter(({ status }) => status !== 429);

/** The most that a window of this length certainly held: each was admitted between its sending and its answer. */
export function mostInWindow(exchanges: readonly Exchange[], windowMs: number): number {
  const sorted = exchanges.toSorted((one, other) => one.sentMs - other.sentMs);
  let most = 0;
  for (const [index, { sentMs: startMs }] of sorted.entries()) {
    let count = 0;
    for (const { sentMs, answeredMs } of sorted.slice(index)) {
      if (sentMs - startMs >= windowMs) break;
      if (answeredMs - startMs < windowMs) count += 1;
    }
    most = Math.max(most, count);
  }
  return most;
}

/** The most arrivals in any window of this length. */
export function mostArrivals(arrivalsMs: readonly number[], windowMs: number): number {
  let first = 0;
  let most = 0;
  for (const [index, atMs] of arrivalsMs.entries()) {
    while (atMs - (arrivalsMs[first] as number) >= windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
