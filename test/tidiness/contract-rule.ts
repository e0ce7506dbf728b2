import { readFileSync } from 'node:fs';
import path from 'node:path';
import { cellsOf, faultsOfHolders } from './held-by.ts';
import { type Repository, ROOT, type Rule, textOf } from './repository.ts';

const CONTRACT = 'docs/contract.md';
const PAGE = 'docs/contract-tests.md';
const UNTESTABLE = /^nothing to test: \w/;

/** A paragraph, an item of a list or a row of a table. */
interface Statement {
  readonly section: string;
  readonly text: string;
}

interface Row {
  readonly section: string;
  /** How the statement begins, or words of it that no other statement of the section has. */
  readonly words: string;
  readonly holders: string;
}

/** The sections of a page by their number. */
const sectionsOf = (page: string): (readonly [section: string, lines: readonly string[]])[] =>
  page
    .replaceAll(/^```[^]*?^```$/gm, '')
    .split(/^(?=##)/m)
    .flatMap((part) => {
      const [heading = '', ...lines] = part.split('\n');
      const [, section] = /^#{2,3} ([\d.]+) /.exec(heading) ?? [];
      return section === undefined ? [] : [[section, lines] as const];
    });

const plain = (markdown: string): string =>
  markdown
    .replaceAll(/\*\*(?:Original|Decided here)\.\*\*/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*\\]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

type Kind = 'paragraph' | 'item' | 'row';

/** The statements of a section. Left out are headers of tables, what introduces a list or a table, "Not specified." */
function statementsOf([section, lines]: readonly [string, readonly string[]]): Statement[] {
  const blocks: { readonly kind: Kind; text: string }[] = [];
  let open = false;
  for (const line of lines) {
    const cells = cellsOf(line);
    if (cells?.every((cell) => /^-+$/.test(cell)) === true) blocks.pop();
    else if (cells !== null) blocks.push({ kind: 'row', text: cells.join(' ') });
    else if (/^(?:-|\d+\.) /.test(line)) blocks.push({ kind: 'item', text: line.replace(/^\S+ /, '') });
    else if (line.trim() !== '' && open) blocks.splice(-1, 1, continued(blocks, line));
    else if (line.trim() !== '') blocks.push({ kind: 'paragraph', text: line });
    open = line.trim() !== '' && cells === null;
  }
  return blocks.flatMap(({ kind, text }, index) => {
    const words = plain(text);
    const next = blocks[index + 1]?.kind ?? 'paragraph';
    const introduces = kind === 'paragraph' && words.endsWith(':') && next !== 'paragraph';
    return words === '' || words === 'Not specified.' || introduces ? [] : [{ section, text: words }];
  });
}

function continued(blocks: readonly { readonly kind: Kind; readonly text: string }[], line: string) {
  const { kind = 'paragraph', text = '' } = blocks.at(-1) ?? {};
  return { kind, text: `${text} ${line.trim()}` };
}

const rowsOf = ([section, lines]: readonly [string, readonly string[]]): Row[] =>
  lines
    .flatMap((line) => {
      const cells = cellsOf(line);
      return cells === null ? [] : [cells];
    })
    .slice(2)
    .map(([words = '', holders = '']) => ({ section, words: plain(words), holders }));

/** The indexes of the statements that a row is about: those that begin with its words, or else those that have them. */
function statementsOfRow(statements: readonly Statement[], { section, words }: Row): number[] {
  const having = (matches: (text: string) => boolean): number[] =>
    statements.flatMap((statement, index) => (statement.section === section && matches(statement.text) ? [index] : []));
  const beginning = having((text) => text === words || text.startsWith(`${words} `));
  return beginning.length > 0 ? beginning : having((text) => text.includes(words));
}

function faultsOf(repository: Repository): string[] {
  const statements = sectionsOf(textOf(repository, CONTRACT)).flatMap(statementsOf);
  const faults = statements.length < 200 ? [`${CONTRACT}: only ${statements.length} statements were found`] : [];
  const held = new Set<number>();
  let previous = -1;
  for (const row of sectionsOf(textOf(repository, PAGE)).flatMap(rowsOf)) {
    const name = `${PAGE}: ${row.section}, "${row.words}"`;
    if (!UNTESTABLE.test(row.holders)) faults.push(...faultsOfHolders(repository, row.holders, name));
    const [statement, ...others] = row.words === '' ? [] : statementsOfRow(statements, row);
    if (statement === undefined) {
      faults.push(`${name}: section ${row.section} of ${CONTRACT} does not say this`);
      continue;
    }
    if (others.length > 0) faults.push(`${name}: ${others.length + 1} statements of the section say this: add words`);
    if (statement < previous) faults.push(`${name} is not at its place: rows have the order of ${CONTRACT}`);
    previous = statement;
    held.add(statement);
  }
  const missing = statements.filter((_, index) => !held.has(index));
  return [
    ...faults,
    ...missing.map(({ section, text }) => `${PAGE} has no row for this statement of section ${section}: ${text}`),
  ];
}

const PRESENT = new Map([CONTRACT, PAGE].map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));

/** The page with some of its text replaced, which must be there. */
function withReplaced(file: string, text: string, replacement: string): Readonly<Record<string, string>> {
  const present = PRESENT.get(file) ?? '';
  if (!present.includes(text)) throw new Error(`${file} does not have "${text}": plant the violation elsewhere`);
  return { [file]: present.replace(text, () => replacement) };
}

const STATEMENT = '| The currency is IDR |';
const HOLDER = '`contract/envelope` *for an unknown route*';

export const contractIsTested: Rule = {
  name: `${PAGE} has a row for each statement of ${CONTRACT}, and names only tests that exist`,
  check: faultsOf,
  planted: [
    withReplaced(CONTRACT, '## 3 States', '- One more promise.\n\n## 3 States'),
    withReplaced(
      CONTRACT,
      '| field | type | content |\n|---|---|---|',
      '| field | type | content |\n|---|---|---|\n| `new` | | |',
    ),
    withReplaced(PAGE, STATEMENT, '| The currency is any |'),
    withReplaced(PAGE, STATEMENT, '| A |'),
    withReplaced(PAGE, HOLDER, '`contract/envelope` *for a route that is not there*'),
    withReplaced(PAGE, HOLDER, '`contract/none` *for an unknown route*'),
    withReplaced(PAGE, HOLDER, 'tested by hand'),
  ],
};
