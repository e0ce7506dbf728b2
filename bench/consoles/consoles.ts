import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { createLoginLink } from '../../apps/server/src/auth/login-links.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import type { BenchContext } from '../bench-context.ts';
import type { Comparison } from '../compare.ts';
import { type BenchDatabase, makeDatabase } from '../database/databases.ts';
import { type Measurement, measureInRounds, type Target } from '../measure.ts';
import type { Options } from '../options.ts';
import { cpuMicroseconds } from '../process-stats.ts';
import { pairedRatio, type Ratio } from '../ratios.ts';
import { rowsOf } from '../report.ts';
import { type Service, startService } from '../services.ts';
import { checkStatusTarget } from '../targets.ts';
import { verifyCheckStatus } from '../verify.ts';
import { type OpenConsole, openConsole } from './open-console.ts';
import { POLL_MS } from './page-requests.ts';

const CONSOLES = 20;
const BUDGET = 1.02;
/** Each of the pages reads twice. */
const ROUND_SECONDS = (2 * POLL_MS) / 1_000;
/** Without status checks. */
const IDLE_SECONDS = 20;
const QUICK_IDLE_SECONDS = 1;

/**
 * Compares status checks with nothing else, and beside 20 browsers with the console's overview page. One service is
 * measured without consoles, with them, and without them again, so that it is the same process at the same time.
 */
export async function compareConsoles(context: BenchContext, options: Options): Promise<Comparison> {
  const database = await makeDatabase(context, 'bench_small', options.smallRows);
  const service = await startService(context, { name: 'consoles', database });
  await verifyCheckStatus(context, service, database);
  const consoles = await openConsoles(context, service, database);
  const show = (): void => consoles.forEach((each, index) => each.show((index * POLL_MS) / CONSOLES));
  const hide = async (): Promise<void> => void (await Promise.all(consoles.map((each) => each.hide())));
  const target = (title: string): Target => checkStatusTarget(service, database, title);
  const targets = {
    before: target('no console'),
    beside: { ...target(`beside ${CONSOLES} consoles`), beside: { begin: show, end: hide } },
    after: target('no console, again'),
  };
  const roundSeconds = options.quick ? options.roundSeconds : Math.max(options.roundSeconds, ROUND_SECONDS);
  const measured = await measureInRounds(context, targets, { ...options, roundSeconds });
  const readings = readingsOf(consoles);
  assert.ok(readings > 0, 'the consoles have read nothing');

  const seconds = options.quick ? QUICK_IDLE_SECONDS : IDLE_SECONDS;
  context.logProgress(`the consoles alone, ${2 * seconds} s …`);
  const idleUs = await cpuPerSecond(context, service, seconds);
  show();
  const consolesUs = (await cpuPerSecond(context, service, seconds)) - idleUs;
  await hide();
  return {
    rows: rowsOf(targets, measured),
    ratios: ratiosOf(measured, consolesUs),
  };
}

async function openConsoles(
  context: BenchContext,
  { address }: Service,
  { connectionString }: BenchDatabase,
): Promise<OpenConsole[]> {
  const { log, closers, signal, logProgress } = context;
  logProgress(`opening ${CONSOLES} consoles …`);
  const database = openDatabase({ connection: { connectionString }, connectionsMax: 1, log });
  const consoles: OpenConsole[] = [];
  closers.defer(async () => {
    await Promise.allSettled(consoles.map((each) => each.hide()));
    await Promise.all(consoles.map((each) => each.close()));
  });
  try {
    for (let number = 1; number <= CONSOLES; number += 1) {
      signal.throwIfAborted();
      const person = { subject: `person-${number}@example.com`, name: 'Siti Rahma', role: 'engineer' } as const;
      const link = await createLoginLink(database, address.operatorUrl, person);
      consoles.push(await openConsole(address.operatorUrl, link));
    }
  } finally {
    await database.close();
  }
  return consoles;
}

const readingsOf = (consoles: readonly OpenConsole[]): number =>
  consoles.reduce((sum, each) => sum + each.readings(), 0);

/** Microseconds of CPU time that the service uses in a second. */
async function cpuPerSecond({ signal }: BenchContext, { pid }: Service, seconds: number): Promise<number> {
  const before = await cpuMicroseconds(pid);
  const startedMs = performance.now();
  await wait(seconds * 1_000, undefined, { signal });
  return (((await cpuMicroseconds(pid)) - before) * 1_000) / (performance.now() - startedMs);
}

type Measured = Readonly<Record<'before' | 'beside' | 'after', readonly Measurement[]>>;

function ratiosOf({ before, beside, after }: Measured, consolesUs: number): Ratio[] {
  // What the machine does to both runs without consoles, it also does to the one between them.
  const without = before.map((one, round) => mean(one, after[round] ?? one));
  const own = beside.map((each) => ({
    ...each,
    cpuUsPerRequest: each.cpuUsPerRequest - consolesUs / each.perSecond,
  }));
  return [
    {
      title: "beside 20 consoles / none: service CPU per check-status, the consoles' requests included",
      value: pairedRatio(beside, without, 'cpuUsPerRequest'),
      budget: { bound: 'at most', value: BUDGET },
    },
    {
      title: "beside 20 consoles / none: service CPU per check-status, without the consoles' requests",
      value: pairedRatio(own, without, 'cpuUsPerRequest'),
      budget: null,
    },
    { title: 'beside 20 consoles / none: p99', value: pairedRatio(beside, without, 'p99Ms'), budget: null },
    {
      title: 'none, again / none: service CPU per check-status (how exact these figures are)',
      value: pairedRatio(after, before, 'cpuUsPerRequest'),
      budget: null,
    },
    { title: "the consoles' requests alone: service CPU, ms per second", value: consolesUs / 1_000, budget: null },
  ];
}

const mean = (one: Measurement, other: Measurement): Pick<Measurement, 'cpuUsPerRequest' | 'p99Ms'> => ({
  cpuUsPerRequest: (one.cpuUsPerRequest + other.cpuUsPerRequest) / 2,
  p99Ms: (one.p99Ms + other.p99Ms) / 2,
});
