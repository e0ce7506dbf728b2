import { inspect } from 'node:util';
import { createRandom } from '../test/contract/random.ts';
import type { Finding, Part, PartOptions } from './part.ts';
import { openEnvironment } from './random/environment.ts';
import { type CampaignRecord, createRecord } from './random/record.ts';
import { playRound } from './random/round.ts';

/** The load of one round. A replay plays one round, as long as the user says. */
const ROUND_SECONDS = 30;
const PROGRESS_MS = 5_000;
const SEEDS = 2 ** 31;

/**
 * The default part: rounds of a load whose right results are known, with faults and random requests, all drawn by the
 * round's seed. It ends with the first round in which something is wrong.
 */
export const random: Part = async (options) => {
  const { seconds, seed, isReplay, signal, print } = options;
  const record = createRecord();
  const startedMs = performance.now();
  const nextSeed = createRandom(seed);
  let rounds = 0;
  let roundSeed = seed;
  const progress = setInterval(() => print(progressLine(record, rounds, startedMs, options)), PROGRESS_MS);
  const environment = await openEnvironment();
  try {
    for (;;) {
      if (!isReplay) roundSeed = Math.floor(nextSeed() * SEEDS);
      rounds += 1;
      print(`round ${rounds}: seed ${roundSeed}`);
      const roundSeconds = Math.min(seconds, ROUND_SECONDS);
      await playRound({ seed: roundSeed, seconds: roundSeconds, environment, record, signal }).catch(
        (error: unknown) => {
          if (!signal.aborted) record.wrong('the round did not reach its end', inspect(error));
        },
      );
      if (isReplay || record.findings.length > 0 || signal.aborted || secondsSince(startedMs) >= seconds) break;
    }
  } finally {
    clearInterval(progress);
    await environment.close();
  }
  const counts = [...record.counts].sort(([one], [other]) => (one < other ? -1 : 1));
  const findings = record.findings.map((what): Finding => ({ what, seed: roundSeed }));
  return { findings, figures: { rounds, ...Object.fromEntries(counts) } };
};

const secondsSince = (startedMs: number): number => (performance.now() - startedMs) / 1_000;

function progressLine(
  { counts, findings }: CampaignRecord,
  rounds: number,
  startedMs: number,
  { seconds }: PartOptions,
): string {
  const count = (name: string): number => counts.get(name) ?? 0;
  const kills = count('kills of the service') + count('kills of PostgreSQL');
  const requests = count('fuzzed requests') + count('requests of the workload');
  const left = Math.max(0, Math.round(seconds - secondsSince(startedMs)));
  return `  ${rounds} rounds, ${kills} kills, ${requests} requests, ${findings.length} findings, ${left} s left`;
}
