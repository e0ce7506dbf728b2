import type { BenchContext } from '../bench-context.ts';
import type { Options } from '../options.ts';
import { measureBacklog } from './backlog.ts';
import { type BareNotices, measureBareNotices, measureBarePosts, startBare } from './bare.ts';
import { measureNotices } from './callback-latency.ts';
import type { Figures } from './figures.ts';
import { measureLongPolls, type Waiting } from './long-polls.ts';
import { startPostgres } from './postgres.ts';
import { inRounds } from './rounds.ts';
import { type Sizes, sizesOf } from './sizes.ts';
import { startCallbackSubject, startSubject } from './subject.ts';

/** By round: of the bare carrier, and of services with one endpoint, with another that answers too, and with one that hangs. */
export interface Measured {
  readonly notices: {
    readonly bare: readonly BareNotices[];
    readonly alone: readonly Figures[];
    readonly answering: readonly Figures[];
    readonly hanging: readonly Figures[];
  };
  readonly backlog: {
    readonly bare: readonly Figures[];
    readonly alone: readonly Figures[];
    readonly answering: readonly Figures[];
    readonly hanging: readonly Figures[];
  };
  readonly flushed: Figures;
  readonly waiting: Waiting;
}

/** Measures how a change arrives at clients: docs/benchmarks.md says what each row means. */
export async function measureEndToEnd(
  stage: BenchContext,
  options: Options,
): Promise<{ measured: Measured; sizes: Sizes }> {
  const sizes = sizesOf(options);
  stage.say('starting a PostgreSQL that keeps the time of each commit …');
  const postgres = await startPostgres(stage, 'postgres-of-arrival', false);
  const callbacks = await measureCallbacks({ ...stage, postgres }, sizes);

  stage.say(`${sizes.waiting.toLocaleString('en')} wait with Prefer: wait …`);
  const waiter = await startSubject({ ...stage, postgres }, { name: 'waiting', past: sizes.past });
  const waiting = await measureLongPolls(stage, waiter, sizes);

  stage.say('callbacks again, with a PostgreSQL that flushes every commit to the disk …');
  const flushed = await measureFlushed(stage, sizes);
  return { measured: { ...callbacks, waiting, flushed }, sizes };
}

async function measureCallbacks(stage: BenchContext, sizes: Sizes): Promise<Pick<Measured, 'notices' | 'backlog'>> {
  const { past, rounds, backlogRounds, changesPerSecond, roundSeconds, shortSeconds, backlog: due } = sizes;
  stage.say('starting the servers …');
  const bare = await startBare(stage);
  const alone = await startCallbackSubject(stage, { name: 'alone', past, other: 'none' });
  const answering = await startCallbackSubject(stage, { name: 'answering', past, other: 'answers' });
  const hanging = await startCallbackSubject(stage, { name: 'hanging', past, other: 'hangs' });

  stage.say(`callbacks, ${changesPerSecond} changes a second …`);
  const long = { perSecond: changesPerSecond, seconds: roundSeconds };
  const notices = await inRounds(stage, rounds, {
    bare: () => measureBareNotices(stage, bare, { ...long, seconds: shortSeconds }),
    alone: () => measureNotices(stage, alone, long),
    answering: () => measureNotices(stage, answering, long),
    hanging: () => measureNotices(stage, hanging, long),
  });

  stage.say(`callbacks, ${due.toLocaleString('en')} due …`);
  const round = { backlog: due, changesPerSecond, seconds: shortSeconds };
  const backlog = await inRounds(stage, backlogRounds, {
    bare: () => measureBarePosts(bare, shortSeconds),
    alone: () => measureBacklog(stage, alone, round),
    answering: () => measureBacklog(stage, answering, round),
    hanging: () => measureBacklog(stage, hanging, round),
  });
  // What they still owe would take time from whatever comes next.
  for (const subject of [alone, answering, hanging]) await subject.stop();
  return { notices, backlog };
}

async function measureFlushed(
  stage: BenchContext,
  { past, flushedSeconds, changesPerSecond, warmUpSeconds }: Sizes,
): Promise<Figures> {
  const postgres = await startPostgres(stage, 'postgres-that-flushes', true);
  const subject = await startCallbackSubject({ ...stage, postgres }, { name: 'flushed', past, other: 'none' });
  await measureNotices(stage, subject, { perSecond: changesPerSecond, seconds: warmUpSeconds });
  return measureNotices(stage, subject, { perSecond: changesPerSecond, seconds: flushedSeconds });
}
