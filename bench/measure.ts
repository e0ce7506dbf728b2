import assert from 'node:assert/strict';
import { truncate } from 'node:fs/promises';
import type { BenchContext } from './bench-context.ts';
import { cpuSeconds } from './cpu-time.ts';
import type { LoadResult, Requests } from './load/load.ts';
import type { Service } from './services.ts';
import { countInquiries } from './verify.ts';

/** Something that answers requests, and the requests to send it. */
export interface Variant {
  readonly title: string;
  /** The process whose CPU time counts. */
  readonly pid: number;
  readonly requests: Requests;
  /** Absent for the bare server. */
  readonly service?: Service;
}

export interface Measurement {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the server process, in microseconds. */
  readonly cpuUsPerRequest: number;
  /** Requests that were refused or got no answer. */
  readonly failed: number;
}

export interface Durations {
  readonly warmUpSeconds: number;
  readonly rounds: number;
  readonly roundSeconds: number;
}

const FAILED_SHARE_MAX = 0.01;

/**
 * Warms every variant up, then measures each in turn, round by round: what else happens on the machine meanwhile then
 * falls on all of them alike. The measurements of each variant, by round.
 */
export async function measureInRounds<Name extends string>(
  stage: BenchContext,
  variants: Readonly<Record<Name, Variant>>,
  { warmUpSeconds, rounds, roundSeconds }: Durations,
): Promise<Record<Name, Measurement[]>> {
  const names = Object.keys(variants) as Name[];
  const measurements = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Measurement[]>;
  let run = 0;
  for (let round = 0; round <= rounds; round += 1) {
    stage.say(round === 0 ? 'warming up …' : `round ${round} of ${rounds} …`);
    for (const name of names) {
      const seconds = round === 0 ? warmUpSeconds : roundSeconds;
      const measurement = await measure(stage, variants[name], seconds, (run += 1));
      if (round === 0) continue;
      requireSuccess(variants[name], measurement, seconds);
      measurements[name].push(measurement);
    }
  }
  return measurements;
}

async function measure(stage: BenchContext, variant: Variant, seconds: number, run: number): Promise<Measurement> {
  const { signal } = stage;
  signal.throwIfAborted();
  const { title, pid, requests, service } = variant;
  const inquiries = service === undefined ? null : await countInquiries(service);
  const cpuBefore = await cpuSeconds(pid);
  const result = await stage.load.run({ requests, seconds, run, signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new Error(`${title}: the load failed`, { cause });
  });
  const cpuUsed = (await cpuSeconds(pid)) - cpuBefore;
  signal.throwIfAborted();
  if (service !== undefined && inquiries !== null) {
    if (requests.numbers.order === 'counting') await verifyInquiries(service, inquiries.sent, result);
    // A minute of access log is some hundred megabytes, and nobody reads them.
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

/** A machine with too much to do makes the service refuse now and then; with more than that, something is wrong. */
function requireSuccess({ title }: Variant, { perSecond, failed }: Measurement, seconds: number): void {
  const answered = Math.round(perSecond * seconds);
  if (answered > 0 && failed <= answered * FAILED_SHARE_MAX) return;
  throw new Error(`${title}: ${failed} requests failed of about ${answered}`);
}

/** Every account check must have cost a call to the bank. */
async function verifyInquiries(service: Service, sentBefore: number, { answered, failed }: LoadResult): Promise<void> {
  const { sent, shared } = await countInquiries(service);
  assert.equal(shared, 0, 'account checks shared an inquiry: the accounts were not distinct');
  assert.ok(
    sent - sentBefore >= answered - failed,
    `${answered} account checks made only ${sent - sentBefore} calls to the bank`,
  );
}
