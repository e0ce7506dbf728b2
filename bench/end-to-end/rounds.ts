import type { BenchContext } from '../bench-context.ts';

/**
 * Measures each in turn, round by round, so that what else happens on the machine falls on all of them alike. The first
 * round warms them up and is not kept.
 */
export async function inRounds<Results extends Record<string, unknown>>(
  stage: BenchContext,
  rounds: number,
  measures: { readonly [Name in keyof Results]: () => Promise<Results[Name]> },
): Promise<{ readonly [Name in keyof Results]: Results[Name][] }> {
  const names: (keyof Results)[] = Object.keys(measures);
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as {
    [Name in keyof Results]: Results[Name][];
  };
  for (let round = 0; round <= rounds; round += 1) {
    stage.say(round === 0 ? '  warming up …' : `  round ${round} of ${rounds} …`);
    for (const name of names) {
      stage.signal.throwIfAborted();
      const result = await measures[name]();
      if (round > 0) results[name].push(result);
    }
  }
  return results;
}
