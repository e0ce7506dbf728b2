import { type Repository, textOf } from './repository.ts';

/** Pages whose rows name the tests that hold what they say: a file of `test/` without its ending, and a test in it. */

const HOLDER = /^`([a-z0-9/-]+)` \*((?:\\.|[^*\\])+)\*$/;
/** A call that names a test or a group of tests; a name in a constant stands in a template of its own line. */
const NAMED_TEST = /\b(?:test|it|suite|describe)\(\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)/g;

/** The cells of a row of a Markdown table; null for another line. */
export const cellsOf = (line: string): string[] | null =>
  line.startsWith('|')
    ? line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim())
    : null;

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

/** The faults of a cell "held by", which has one or more tests with `<br>` between them. `row` begins each fault. */
export const faultsOfHolders = (repository: Repository, holders: string, row: string): string[] =>
  holders.split('<br>').flatMap((holder) => {
    const [, file, name = ''] = HOLDER.exec(holder) ?? [];
    if (file === undefined) return [`${row} has no file and test: ${holder}`];
    const path = `test/${file}.test.ts`;
    if (!repository.has(path)) return [`${row} names ${path}, which does not exist`];
    return hasTest(textOf(repository, path), name.replaceAll('\\', ''))
      ? []
      : [`${row} names a test that ${path} does not have: ${name}`];
  });
