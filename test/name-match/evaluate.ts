import { matchNames } from '../../apps/server/src/name-match/name-match.ts';
import { type Evaluation, evaluate } from './evaluation.ts';
import { type Pair, readHeldOutPairs, readPairs } from './pairs.ts';
import { byKindTable, heldOutTable, overallTable } from './tables.ts';
import { timeMatchers } from './timing.ts';

/** Prints the quality and cost of name matching, compared with three general measures. `--misses` lists the errors. */

const counted = (pairs: readonly Pair[]): string =>
  `${pairs.length} pairs, ${pairs.filter((pair) => !pair.isSame).length} of them different holders with similar names`;

export const summaryOf = (evaluation: Evaluation): string[] => [
  `By kind: ${counted(evaluation.own.pairs)}.`,
  overallTable(evaluation),
  `Held out: ${counted(evaluation.ownHeldOut.pairs)}.`,
  heldOutTable(evaluation),
];

function missesOf(pairs: readonly Pair[]): string[] {
  return pairs.flatMap(({ kind, expected, held, isSame }) => {
    const { result, reasons } = matchNames(expected, held);
    const isRight = isSame ? result === 'MATCH' || result === 'CLOSE_MATCH' : result === 'NO_MATCH';
    const label = isSame ? 'same' : 'different';
    return isRight ? [] : [`${kind}: ${label}, but ${result} (${reasons.join(', ')}): ${expected} / ${held}`];
  });
}

if (import.meta.main) {
  const evaluation = evaluate();
  const times = [...timeMatchers()].map(([name, costUs]) => `  ${name}: ${costUs.toFixed(1)} µs`);
  const parts = [
    'Peers are at their balanced thresholds.',
    byKindTable(evaluation),
    ...summaryOf(evaluation),
    ['A pair costs, as the median of rounds in this process:', ...times].join('\n'),
  ];
  if (process.argv.includes('--misses')) parts.push(missesOf([...readPairs(), ...readHeldOutPairs()]).join('\n'));
  process.stdout.write(`${parts.join('\n\n')}\n`);
}
