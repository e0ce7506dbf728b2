import { cellsOf, faultsOfHolders } from './held-by.ts';
import { type Repository, type Rule, textOf } from './repository.ts';

const PAGE = 'docs/guarantees.md';
/** Faults and bad input: the page has a row for each, with a test or with the words that there is none yet. */
const FAULTS = 25;
const NONE_YET = 'none yet';

interface Row {
  readonly number: number;
  /** The promise, the holders and the figure. */
  readonly cells: readonly string[];
}

const rowsOf = (page: string): Row[] =>
  page
    .split('\n')
    .filter((line) => /^\| \d+ \|/.test(line))
    .map((line) => {
      const [number, ...cells] = cellsOf(line) ?? [];
      return { number: Number(number), cells };
    });

function faultsOf(repository: Repository, { number, cells }: Row): string[] {
  const [, , holders = ''] = cells;
  if (cells.length !== 4) return [`${PAGE}: row ${number} has not five cells`];
  return holders === NONE_YET ? [] : faultsOfHolders(repository, holders, `${PAGE}: row ${number}`);
}

const COMPLETE = Array.from({ length: FAULTS }, (_, index) => `| ${index + 1} | a fault | | none yet | |`).join('\n');
const withRow = (number: number, holder: string): string =>
  `${COMPLETE}\n| ${number} | a fault | a promise | ${holder} | a figure |\n`;

export const guaranteesAreHeld: Rule = {
  name: `${PAGE} names only tests that exist, and has a row for each of ${FAULTS} faults`,
  check(repository) {
    const rows = rowsOf(textOf(repository, PAGE));
    const misplaced = rows.filter(({ number }, index) => number !== index + 1);
    return [
      ...(rows.length < FAULTS ? [`${PAGE}: ${rows.length} rows`] : []),
      ...misplaced.map(({ number }) => `${PAGE}: row ${number} is not at its place`),
      ...rows.flatMap((row) => faultsOf(repository, row)),
    ];
  },
  planted: [
    { [PAGE]: '' },
    { [PAGE]: withRow(FAULTS + 2, NONE_YET) },
    { [PAGE]: withRow(FAULTS + 1, 'tested by hand') },
    { [PAGE]: withRow(FAULTS + 1, '`http/none` *a test*') },
    {
      [PAGE]: withRow(FAULTS + 1, '`http/planted` *a test*'),
      'test/http/planted.test.ts': "test('a test that was renamed', () => {});\ntest(`${name}`, () => {});\n",
    },
  ],
};
