import { matchNames } from '../../apps/server/src/name-match/name-match.ts';
import { PEERS } from './matchers.ts';
import { type Pair, readPairs } from './pairs.ts';

const ROUNDS = 15;
const WARM_UP_ROUNDS = 10;
const REPEATS = 4;

/**
 * The cost of a pair in microseconds of processor time, which other programs disturb least: the median of rounds that
 * alternate between the matchers.
 */
export function timeMatchers(): ReadonlyMap<string, number> {
  const pairs = readPairs();
  const matchers: readonly (readonly [string, (expected: string, held: string) => unknown])[] = [
    ['Tiba', matchNames],
    ...PEERS.map(({ name, similarity }) => [name, similarity] as const),
  ];
  const rounds = new Map<string, number[]>(matchers.map(([name]) => [name, []]));
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (const [name, compare] of matchers) {
      const costUs = timeRound(pairs, compare);
      if (round >= WARM_UP_ROUNDS) rounds.get(name)?.push(costUs);
    }
  }
  return new Map([...rounds].map(([name, costs]) => [name, median(costs)]));
}

function timeRound(pairs: readonly Pair[], compare: (expected: string, held: string) => unknown): number {
  const start = process.threadCpuUsage();
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (const { expected, held } of pairs) compare(expected, held);
  }
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / (REPEATS * pairs.length);
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
