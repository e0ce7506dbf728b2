import { readdirSync, readFileSync } from 'node:fs';

/**
 * Hand-written pairs of names: the expected name, the name at the bank, and whether a fair reader considers them the
 * same person or company. `pairs/` has a file for each kind; `held-out.tsv` was written together with them and was not
 * used while the rules were developed.
 */
export interface Pair {
  readonly kind: string;
  readonly expected: string;
  readonly held: string;
  readonly isSame: boolean;
}

const FOLDER = new URL('pairs/', import.meta.url);
const HELD_OUT = new URL('held-out.tsv', import.meta.url);

export const readPairs = (): Pair[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.tsv'))
    .sort()
    .flatMap((file) => pairsIn(new URL(file, FOLDER), file.replace('.tsv', '')));

export const readHeldOutPairs = (): Pair[] => pairsIn(HELD_OUT, 'held out');

function pairsIn(file: URL, kind: string): Pair[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => pairOf(line, kind));
}

function pairOf(line: string, kind: string): Pair {
  const [expected, held, label, ...rest] = line.split('\t');
  if (expected === undefined || held === undefined || rest.length > 0 || (label !== 'same' && label !== 'different')) {
    throw new Error(`Not expected<TAB>held<TAB>same|different, in ${kind}: ${line}`);
  }
  return { kind, expected, held, isSame: label === 'same' };
}
