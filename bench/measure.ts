import assert from 'node:assert/strict';
import { truncate } from 'node:fs/promises';
import type { BenchContext } from './bench-context.ts';
import { CONNECTIONS, type LoadResult, type Requests } from './load/load.ts';
import { cpuSeconds } from './process-stats.ts';
import type { Service } from './services.ts';
import { countInquiries } from './verify.ts';

/** A server to measure, and the requests to send to it. */
export interface Target {
  readonly title: string;
  /** The process whose CPU time counts. */
  readonly pid: number;
  /** Further processes of the server, whose CPU time counts too. */
  readonly workers?: readonly number[];
  readonly requests: Requests;
  /** Requests to a second server, sent at the same time. Each server gets half of what is in flight. */
  readonly secondRequests?: Requests;
  /** How many requests are in flight, if not as many as usual. */
  readonly connections?: number;
  /** Absent for the baseline server. */
  readonly service?: Service;
  /** What else happens while it is measured. */
  readonly beside?: { begin(): void; end(): Promise<void> };
}

export interface Measurement {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the server process, in microseconds. */
  readonly cpuUsPerRequest: number;
  /** Requests that got an error status or no response. */
  readonly failed: number;
}

export interface Durations {
  readonly warmUpSeconds: number;
  readonly rounds: number;
  readonly roundSeconds: number;
}

const FAILED_SHARE_MAX = 0.01;

/**
 * Warms every target up, then measures each in turn, round by round, so that other load on the machine affects all of
 * them equally. Resolves to the measurements of each target, by round.
 */
export async function measureInRounds<Name extends string>(
  context: MeasuringContext,
  targets: Readonly<Record<Name, Target>>,
  { warmUpSeconds, rounds, roundSeconds }: Durations,
): Promise<Record<Name, Measurement[]>> {
  const names = Object.keys(targets) as Name[];
  const measurements = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Measurement[]>;
  let run = 0;
  // Round 0 warms up.
  for (let round = warmUpSeconds > 0 ? 0 : 1; round <= rounds; round += 1) {
    context.logProgress(round === 0 ? 'warming up …' : `round ${round} of ${rounds} …`);
    for (const name of names) {
      let seconds = round === 0 ? warmUpSeconds : roundSeconds;
      let measurement = await measure(context, targets[name], seconds, (run += 1));
      if (round === 0) continue;
      while (isUnanswered(measurement) && seconds < UNANSWERED_SECONDS_MAX) {
        seconds *= 2;
        measurement = await measure(context, targets[name], seconds, (run += 1));
      }
      requireSuccess(targets[name], measurement, seconds);
      measurements[name].push(measurement);
    }
  }
  return measurements;
}

type MeasuringContext = Pick<BenchContext, 'signal' | 'logProgress' | 'load'>;

/**
 * On a machine that is busy with other work, a short round may end before its first answer: a longer one follows, and
 * the last one takes at least this long.
 */
const UNANSWERED_SECONDS_MAX = 16;

const isUnanswered = ({ perSecond, failed }: Measurement): boolean => perSecond === 0 && failed === 0;

async function measure(context: MeasuringContext, target: Target, seconds: number, run: number): Promise<Measurement> {
  const { signal } = context;
  signal.throwIfAborted();
  const { pid, workers = [], requests, service } = target;
  const inquiries = service === undefined ? null : await countInquiries(service);
  const cpuBefore = await cpuSecondsOf([pid, ...workers]);
  const result = await runLoads(context, target, seconds, run);
  const cpuUsed = (await cpuSecondsOf([pid, ...workers])) - cpuBefore;
  signal.throwIfAborted();
  if (service !== undefined && inquiries !== null) {
    if (requests.numbers.order === 'counting') await verifyInquiries(service, inquiries.sent, result);
    // A minute of access log is some hundred megabytes, and it is not used.
    await truncate(service.logFile);
  }
  return {
    perSecond: result.answered / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuUsPerRequest: (cpuUsed / result.answered) * 1e6,
    failed: result.failed,
  };
}

async function runLoads(
  { load, signal }: MeasuringContext,
  { title, requests, secondRequests, connections: inFlight = CONNECTIONS, beside }: Target,
  seconds: number,
  run: number,
): Promise<LoadResult> {
  const all = secondRequests === undefined ? [requests] : [requests, secondRequests];
  const connections = inFlight / all.length;
  beside?.begin();
  try {
    return together(
      await Promise.all(all.map((each) => load.run({ requests: each, connections, seconds, run, signal }))),
    );
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${title}: the load failed`, { cause });
  } finally {
    await beside?.end();
  }
}

/** The latencies are those of the slower one. */
const together = (results: readonly LoadResult[]): LoadResult =>
  results.reduce((sum, each) => ({
    answered: sum.answered + each.answered,
    failed: sum.failed + each.failed,
    seconds: Math.max(sum.seconds, each.seconds),
    p50Ms: Math.max(sum.p50Ms, each.p50Ms),
    p99Ms: Math.max(sum.p99Ms, each.p99Ms),
  }));

async function cpuSecondsOf(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(cpuSeconds))).reduce((sum, seconds) => sum + seconds, 0);
}

/**
 * On an overloaded machine the service rejects single requests. More failures than that mean that something is wrong.
 */
function requireSuccess({ title }: Target, { perSecond, failed }: Measurement, seconds: number): void {
  const answered = Math.round(perSecond * seconds);
  if (answered > 0 && failed <= answered * FAILED_SHARE_MAX) return;
  throw new Error(`${title}: ${failed} requests failed of about ${answered}`);
}

/** Checks that every account check sent an inquiry to the bank. */
async function verifyInquiries(service: Service, sentBefore: number, { answered, failed }: LoadResult): Promise<void> {
  const { sent, shared } = await countInquiries(service);
  assert.equal(shared, 0, 'account checks shared an inquiry: the account numbers were not distinct');
  assert.ok(
    sent - sentBefore >= answered - failed,
    `${answered} account checks sent only ${sent - sentBefore} inquiries to the bank`,
  );
}
