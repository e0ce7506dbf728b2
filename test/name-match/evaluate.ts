import { matchNames } from '../../apps/server/src/domain/name-match/name-match.ts';
import { evaluate } from './evaluation.ts';
import { type Pair, readHeldOutPairs, readPairs } from './pairs.ts';
import { byKindTable, heldOutTable, overallTable } from './tables.ts';
import { timeMatchers } from './timing.ts';

/** Prints how well names are matched, against three general measures. `--misses` lists what went wrong. */

const evaluation = evaluate();
const print = (...lines: string[]) => process.stdout.write(`${lines.join('\n')}\n\n`);
const counted = (pairs: readonly Pair[]): string =>
  `${pairs.length} pairs, ${pairs.filter((pair) => !pair.isSame).length} of them different holders with similar names`;

print(`By kind: ${counted(evaluation.own.pairs)}.`, 'Peers are at their balanced thresholds.', '', byKindTable(evaluation));
print('All kinds together:', '', overallTable(evaluation));
print(`Held out: ${counted(evaluation.ownHeldOut.pairs)}.`, '', heldOutTable(evaluation));
print(
  'A pair costs, as the median of rounds in this process:',
  ...[...timeMatchers()].map(([name, costUs]) => `  ${name}: ${costUs.toFixed(1)} µs`),
);

if (process.argv.includes('--misses')) {
  for (const { kind, expected, held, isSame } of [...readPairs(), ...readHeldOutPairs()]) {
    const { result, reasons } = matchNames(expected, held);
    const isRight = isSame ? result === 'MATCH' || result === 'CLOSE_MATCH' : result === 'NO_MATCH';
    const label = isSame ? 'same' : 'different';
    if (!isRight) process.stdout.write(`${kind}: ${label}, ${result} ${reasons.join(' ')}: ${expected} / ${held}\n`);
  }
}
