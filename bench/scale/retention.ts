import type { BenchContext } from '../bench-context.ts';
import { commandSender } from '../end-to-end/control.ts';
import { median, type Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { headers } from '../requests.ts';
import { EVENTS_REMOVED_BEFORE, TRANSACTIONS_REMOVED_BEFORE, transactionOf } from './fill.ts';
import type { Measured } from './measured.ts';
import { type PacedResult, runPaced } from './paced.ts';
import type { RemovalRange, Removed } from './removal.ts';

/** Status checks while retention removes a day, in relation to those without. */
const BUDGET = 1.5;
const CHECKS_PER_SECOND = 2_000;
const WITHOUT_SECONDS = 10;
const WITH_SECONDS = 30;
const QUICK = { checksPerSecond: 200, withoutSeconds: 2, withSeconds: 3 };
/** Without and with retention in turn, until the day is removed. */
const PAIRS_MAX = 30;
const WARM_UP_SECONDS = 10;

const RANGE: RemovalRange = {
  eventsBefore: EVENTS_REMOVED_BEFORE,
  transactionsBefore: TRANSACTIONS_REMOVED_BEFORE,
};

interface Pair {
  readonly without: PacedResult;
  readonly during: PacedResult;
  /** Removed per second. */
  readonly events: number;
  readonly transactions: number;
  /** Whether there was something to remove until the end. */
  readonly isWhole: boolean;
}

/** Measures status checks at a steady pace, without and while a day's events and a day's transactions are removed. */
export async function measureRetention(
  context: BenchContext,
  measured: Measured,
  quick: boolean,
): Promise<{ readonly text: string; readonly ratios: readonly Ratio[] }> {
  const due = await countDue(measured);
  const { pairs, removed } = await measurePairs(context, measured, due, quick);
  const wholePairs = pairs.filter(({ isWhole }) => isWhole);
  const ratios = (wholePairs.length === 0 ? pairs : wholePairs).map((each) => each.during.p99Ms / each.without.p99Ms);
  const lines = pairs.flatMap(({ without, during, events, transactions }, index) => [
    lineOf(`${index + 1}, without`, without, []),
    lineOf(`${index + 1}, while a day is removed`, during, [whole(events), whole(transactions)]),
  ]);
  const columns = ['per second', 'p50 ms', 'p99 ms', 'events removed/s', 'transactions removed/s'];
  return {
    text: [
      `removed while status checks were answered: ${whole(removed.events)} of ${whole(due.events)} events and ` +
        `${whole(removed.transactions)} of ${whole(due.transactions)} transactions of a day each`,
      '',
      table([['status checks', ...columns], ...lines]),
    ].join('\n'),
    ratios: [
      {
        title: 'p99 of status checks while a day is removed / without',
        value: median(ratios),
        budget: { bound: 'at most', value: BUDGET },
      },
      {
        title: 'share of the day that was removed',
        value: (removed.events + removed.transactions) / (due.events + due.transactions),
        budget: { bound: 'at least', value: REMOVED_SHARE_MIN },
      },
    ],
  };
}

async function measurePairs(
  { signal, logProgress }: BenchContext,
  measured: Measured,
  due: Counts,
  quick: boolean,
): Promise<{ readonly pairs: readonly Pair[]; readonly removed: Counts }> {
  const { controlUrl, publicUrl, token } = measured.service.address;
  if (controlUrl === null) throw new Error('the service removes nothing on command');
  const send = commandSender(controlUrl, signal);
  const perSecond = quick ? QUICK.checksPerSecond : CHECKS_PER_SECOND;
  const nextPath = (): string => pathOf(measured);
  const run = (seconds: number): Promise<PacedResult> =>
    runPaced({ origin: publicUrl, headers: headers(token), nextPath, perSecond, seconds, signal });
  const seconds = quick ? QUICK.withSeconds : WITH_SECONDS;
  const pairs: Pair[] = [];
  let removed: Removed = { events: 0, transactions: 0, isDone: false };
  await run(quick ? 1 : WARM_UP_SECONDS);
  while (!removed.isDone && pairs.length < PAIRS_MAX) {
    logProgress(`status checks without and while a day is removed, pair ${pairs.length + 1} …`);
    const without = await run(quick ? QUICK.withoutSeconds : WITHOUT_SECONDS);
    await send('beginRemoval', RANGE);
    const during = await run(seconds);
    const { events, transactions, isDone } = await send<Removed>('pauseRemoval');
    const isOver = isDone || (events >= due.events && transactions >= due.transactions);
    pairs.push({
      without,
      during,
      events: (events - removed.events) / seconds,
      transactions: (transactions - removed.transactions) / seconds,
      isWhole: !isOver,
    });
    removed = { events, transactions, isDone: isOver };
    logProgress(`  ${describeRest(due, removed, pairs.length * (seconds + WITHOUT_SECONDS))}`);
  }
  return { pairs, removed };
}

/** The newest event of a client stays. */
const REMOVED_SHARE_MIN = 0.99;

const lineOf = (
  title: string,
  { perSecond, p50Ms, p99Ms }: PacedResult,
  [events = '', transactions = '']: readonly string[],
): string[] => [title, whole(perSecond), p50Ms.toFixed(2), p99Ms.toFixed(2), events, transactions];

/** Of the later half, which no retention removes. */
function pathOf({ database }: Measured): string {
  const number = Math.floor((database.rows * (1 + Math.random())) / 2);
  return `/api/v1/check-status/${transactionOf(Math.min(number, database.rows - 1), database.allRows).transactionId}`;
}

type Counts = Pick<Removed, 'events' | 'transactions'>;

async function countDue({ client }: Measured): Promise<Counts> {
  const { rows } = await client.query<Counts>(
    `select (select count(*)::float8 from tiba.events where occurred_at < $1) as events,
            (select count(*)::float8 from tiba.transactions_final where processed_at < $2) as transactions`,
    [RANGE.eventsBefore, RANGE.transactionsBefore],
  );
  return rows[0] ?? { events: 0, transactions: 0 };
}

/** The slower of the two says how long it takes. */
function describeRest(due: Counts, { events, transactions }: Counts, secondsSoFar: number): string {
  const done = Math.min(events / due.events, transactions / due.transactions);
  const leftMinutes = (secondsSoFar / done - secondsSoFar) / 60;
  const removed = `${whole(events)} of ${whole(due.events)} events, ${whole(transactions)} of ${whole(due.transactions)}`;
  return `${removed} transactions removed, about ${leftMinutes.toFixed(1)} min left`;
}
