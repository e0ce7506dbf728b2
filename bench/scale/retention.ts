import { setTimeout as wait } from 'node:timers/promises';
import { scanEvents } from '../../apps/server/src/postgres/events-retention.ts';
import { scanTransactions } from '../../apps/server/src/postgres/transactions-retention.ts';
import type { BenchContext } from '../bench-context.ts';
import type { Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { headers } from '../requests.ts';
import { DAYS, transactionOf } from './fill.ts';
import type { Measured } from './measured.ts';
import { type PacedResult, runPaced } from './paced.ts';

/** Status checks while retention removes the first day, in relation to those without. */
const BUDGET = 1.5;
const CHECKS_PER_SECOND = 2_000;
const QUICK_CHECKS_PER_SECOND = 200;
const SECONDS = 20;
const QUICK_SECONDS = 2;
/** Without and with retention in turn, so that other load on the machine affects both. */
const PAIRS = 3;
/** As the service does (app/retention.ts, postgres/retention.ts). */
const BATCH = 1_000;
const PAUSES_PER_BATCH = 4;
const PAUSE_MIN_MS = 50;
const DAY_MS = 86_400_000;

/** Measures status checks at a steady pace, without and while a day is removed. */
export async function measureRetention(
  context: BenchContext,
  measured: Measured,
  quick: boolean,
): Promise<{ readonly text: string; readonly ratio: Ratio }> {
  const run = (): Promise<PacedResult> =>
    runPaced({
      origin: measured.service.address.publicUrl,
      headers: headers(measured.service.address.token),
      nextPath: () => pathOf(measured),
      perSecond: quick ? QUICK_CHECKS_PER_SECOND : CHECKS_PER_SECOND,
      seconds: quick ? QUICK_SECONDS : SECONDS,
      signal: context.signal,
    });
  const lines: string[][] = [];
  const ratios: number[] = [];
  await run();
  for (let pair = 1; pair <= (quick ? 1 : PAIRS); pair += 1) {
    context.logProgress(`status checks without and with retention, ${pair} of ${quick ? 1 : PAIRS} …`);
    const without = await run();
    const { result, removed, seconds } = await whileRemoving(measured, run);
    lines.push(lineOf(`${pair}, without`, without, ''));
    lines.push(lineOf(`${pair}, while old records are removed`, result, whole(removed / seconds)));
    ratios.push(result.p99Ms / without.p99Ms);
  }
  return {
    text: table([['status checks', 'per second', 'p50 ms', 'p99 ms', 'removed per second'], ...lines]),
    ratio: {
      title: 'p99 of status checks while a day is removed / without',
      value: ratios.toSorted((one, other) => one - other)[Math.floor(ratios.length / 2)] ?? Number.NaN,
      budget: { bound: 'at most', value: BUDGET },
    },
  };
}

const lineOf = (title: string, { perSecond, p50Ms, p99Ms }: PacedResult, removed: string): string[] => [
  title,
  whole(perSecond),
  p50Ms.toFixed(2),
  p99Ms.toFixed(2),
  removed,
];

/** Of the later half, which no retention removes. */
function pathOf({ database }: Measured): string {
  const number = Math.floor((database.rows * (1 + Math.random())) / 2);
  return `/api/v1/check-status/${transactionOf(Math.min(number, database.rows - 1), database.allRows).transactionId}`;
}

/** Removes events and then transactions of the first day, batch by batch, for as long as `run` takes. */
async function whileRemoving(
  { statements }: Measured,
  run: () => Promise<PacedResult>,
): Promise<{ result: PacedResult; removed: number; seconds: number }> {
  const before = new Date(Date.now() - (DAYS - 1) * DAY_MS);
  const startedMs = performance.now();
  const stopping = new AbortController();
  let removed = 0;
  const events = scanEvents(statements, BATCH);
  const transactions = scanTransactions(statements, BATCH);
  async function remove(): Promise<void> {
    while (!stopping.signal.aborted) {
      const batchMs = performance.now();
      const removedEvents = await events.deleteBatch(before);
      const count = removedEvents === 0 ? await transactions.deleteBatch(before) : removedEvents;
      if (count === 0) return;
      removed += count;
      await wait(Math.max(PAUSE_MIN_MS, (performance.now() - batchMs) * PAUSES_PER_BATCH));
    }
  }
  const removing = remove();
  try {
    const result = await run();
    return { result, removed, seconds: (performance.now() - startedMs) / 1_000 };
  } finally {
    stopping.abort();
    await removing;
  }
}
