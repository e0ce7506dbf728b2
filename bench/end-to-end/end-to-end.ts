import type { BenchContext } from '../bench-context.ts';
import type { Options } from '../options.ts';
import { measureBacklog } from './backlog.ts';
import { type BaselineLatency, measureBaselineLatency, measureBaselinePosts, startBaseline } from './baseline.ts';
import { measureCallbackLatency } from './callback-latency.ts';
import type { Figures } from './figures.ts';
import { type LongPollResult, measureLongPolls } from './long-polls.ts';
import { startPostgres } from './postgres.ts';
import { startCallbackServiceUnderTest, startServiceUnderTest } from './service-under-test.ts';
import { type Sizes, sizesOf } from './sizes.ts';

/**
 * The figures of each round: of the baseline, and of services with one endpoint, with a second endpoint that answers,
 * and with a second endpoint that hangs.
 */
export interface EndToEndResult {
  readonly latency: {
    readonly baseline: readonly BaselineLatency[];
    readonly oneEndpoint: readonly Figures[];
    readonly secondAnswers: readonly Figures[];
    readonly secondHangs: readonly Figures[];
  };
  readonly backlog: {
    readonly baseline: readonly Figures[];
    readonly oneEndpoint: readonly Figures[];
    readonly secondAnswers: readonly Figures[];
    readonly secondHangs: readonly Figures[];
  };
  /** Latency with a PostgreSQL that flushes every commit to disk. */
  readonly durable: Figures;
  readonly longPolls: LongPollResult;
}

/** Measures how soon a change reaches clients. docs/benchmarks.md explains each row. */
export async function measureEndToEnd(
  context: BenchContext,
  options: Options,
): Promise<{ result: EndToEndResult; sizes: Sizes }> {
  const sizes = sizesOf(options);
  context.logProgress('starting a PostgreSQL that records the time of each commit …');
  const postgres = await startPostgres(context, 'postgres-end-to-end', false);
  const callbacks = await measureCallbacks({ ...context, postgres }, sizes);

  context.logProgress(`${sizes.longPolls.toLocaleString('en')} clients with Prefer: wait …`);
  const { existing } = sizes;
  const serviceUnderTest = await startServiceUnderTest({ ...context, postgres }, { name: 'long_polls', existing });
  const longPolls = await measureLongPolls(context, serviceUnderTest, sizes);

  context.logProgress('callbacks again, with a PostgreSQL that flushes every commit to disk …');
  const durable = await measureDurable(context, sizes);
  return { result: { ...callbacks, longPolls, durable }, sizes };
}

async function measureCallbacks(
  context: BenchContext,
  sizes: Sizes,
): Promise<Pick<EndToEndResult, 'latency' | 'backlog'>> {
  const { existing, rounds, backlogRounds, changesPerSecond, roundSeconds, shortSeconds } = sizes;
  context.logProgress('starting the servers …');
  const baseline = await startBaseline(context);
  const start = (name: string, secondEndpoint: 'none' | 'answers' | 'hangs') =>
    startCallbackServiceUnderTest(context, { name, existing, secondEndpoint });
  const oneEndpoint = await start('one_endpoint', 'none');
  const secondAnswers = await start('second_answers', 'answers');
  const secondHangs = await start('second_hangs', 'hangs');

  context.logProgress(`callbacks, ${changesPerSecond} changes per second …`);
  const rate = { perSecond: changesPerSecond, seconds: roundSeconds };
  const latency = await inRounds(context, rounds, {
    baseline: () => measureBaselineLatency(context, baseline, { ...rate, seconds: shortSeconds }),
    oneEndpoint: () => measureCallbackLatency(context, oneEndpoint, rate),
    secondAnswers: () => measureCallbackLatency(context, secondAnswers, rate),
    secondHangs: () => measureCallbackLatency(context, secondHangs, rate),
  });

  context.logProgress(`callbacks, backlog of ${sizes.backlog.toLocaleString('en')} …`);
  const round = { backlog: sizes.backlog, changesPerSecond, seconds: shortSeconds };
  const backlog = await inRounds(context, backlogRounds, {
    baseline: () => measureBaselinePosts(baseline, shortSeconds),
    oneEndpoint: () => measureBacklog(context, oneEndpoint, round),
    secondAnswers: () => measureBacklog(context, secondAnswers, round),
    secondHangs: () => measureBacklog(context, secondHangs, round),
  });
  // Their remaining backlog would take CPU time from the next measurement.
  for (const each of [oneEndpoint, secondAnswers, secondHangs]) await each.stop();
  return { latency, backlog };
}

async function measureDurable(
  context: BenchContext,
  { existing, durableSeconds, changesPerSecond, warmUpSeconds }: Sizes,
): Promise<Figures> {
  const postgres = await startPostgres(context, 'postgres-durable', true);
  const serviceUnderTest = await startCallbackServiceUnderTest(
    { ...context, postgres },
    { name: 'durable', existing, secondEndpoint: 'none' },
  );
  const measure = (seconds: number) =>
    measureCallbackLatency(context, serviceUnderTest, { perSecond: changesPerSecond, seconds });
  await measure(warmUpSeconds);
  return measure(durableSeconds);
}

/**
 * Runs each measurement in turn, round by round, so that other load on the machine affects all of them equally. The
 * first round is a warm-up and does not count.
 */
async function inRounds<Results extends Record<string, unknown>>(
  context: BenchContext,
  rounds: number,
  measurements: { readonly [Name in keyof Results]: () => Promise<Results[Name]> },
): Promise<{ readonly [Name in keyof Results]: Results[Name][] }> {
  const names: (keyof Results)[] = Object.keys(measurements);
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as {
    [Name in keyof Results]: Results[Name][];
  };
  for (let round = 0; round <= rounds; round += 1) {
    context.logProgress(round === 0 ? '  warming up …' : `  round ${round} of ${rounds} …`);
    for (const name of names) {
      context.signal.throwIfAborted();
      const result = await measurements[name]();
      if (round > 0) results[name].push(result);
    }
  }
  return results;
}
