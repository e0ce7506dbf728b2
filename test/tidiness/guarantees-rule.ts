import { type Repository, type Rule, textOf } from './repository.ts';

const PAGE = 'docs/guarantees.md';
/** Faults and bad input: the page has a row for each, with a test or with the words that there is none yet. */
const FAULTS = 25;
const NONE_YET = 'none yet';

/** A file of `test/` without its ending, and the name of a test in it. */
const HOLDER = /^`([a-z0-9/-]+)` \*([^*]+)\*$/;
/** A call that names a test or a group of tests; a name in a constant stands in a template of its own line. */
const NAMED_TEST = /\b(?:test|it|suite|describe)\(\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)/g;

interface Row {
  readonly number: number;
  /** The promise, the holders and the figure. */
  readonly cells: readonly string[];
}

function rowsOf(page: string): Row[] {
  return page
    .split('\n')
    .filter((line) => /^\| \d+ \|/.test(line))
    .map((line) => {
      const [, number, ...cells] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
      return { number: Number(number), cells };
    });
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);

/** Each expression `${…}` of a template stands for any text. */
const patternOf = (template: string): RegExp =>
  new RegExp(
    `^${template
      .split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/)
      .map(escaped)
      .join('.+')}$`,
  );

function hasTest(code: string, name: string): boolean {
  return [...code.matchAll(NAMED_TEST)].some(([, single, double, template]) => {
    const text = single ?? double;
    if (text !== undefined) return text.replaceAll(/\\(.)/g, '$1') === name;
    // A template of nothing but an expression would stand for every name.
    return (
      template !== undefined && /\w{3}/.test(template.replaceAll(/\$\{[^}]*\}/g, '')) && patternOf(template).test(name)
    );
  });
}

function faultOf(repository: Repository, { number, cells }: Row): string[] {
  const [, , holders = '', , ...others] = cells;
  if (cells.length < 4 || others.join('') !== '') return [`${PAGE}: row ${number} has not five cells`];
  if (holders === NONE_YET) return [];
  return holders.split('<br>').flatMap((holder) => {
    const [, file, name = ''] = HOLDER.exec(holder) ?? [];
    if (file === undefined) return [`${PAGE}: row ${number} has no file and test: ${holder}`];
    const path = `test/${file}.test.ts`;
    if (!repository.has(path)) return [`${PAGE}: row ${number} names ${path}, which does not exist`];
    return hasTest(textOf(repository, path), name.replaceAll('\\', ''))
      ? []
      : [`${PAGE}: row ${number} names a test that ${path} does not have: ${name}`];
  });
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
      ...rows.flatMap((row) => faultOf(repository, row)),
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
