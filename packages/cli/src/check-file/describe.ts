import { EXIT, type ExitCode } from '../exit-codes.ts';
import { block, duration } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import type { Style } from '../output/style.ts';
import type { RowResult } from './answers.ts';
import { counted, countOf } from './counted.ts';
import { type Columns, titleOf } from './find-columns.ts';
import type { ReadFile } from './read-file.ts';
import type { RowsToCheck } from './read-rows.ts';
import type { Summary } from './summary.ts';

const SEPARATORS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const;
const LINES_SHOWN = 5;
const KINDS_SHOWN = 10;

/** What was read, before anything is asked: a person sees a wrong column here. */
export function describeFile({ table, format, decoded }: ReadFile, columns: Columns): string {
  const { header, delimiter, rows } = table;
  const form = {
    csv: `CSV with ${SEPARATORS[delimiter]}, ${decoded?.encoding ?? ''}`,
    ndjson: `NDJSON, ${decoded?.encoding ?? ''}`,
    xlsx: 'workbook',
  }[format];
  const named = (title: string, column: number | null): string[] =>
    column === null ? [] : [`${title} "${titleOf(header, column)}"`];
  return [
    `${form}, ${countOf(rows.length, 'row')}`,
    ...named('bank', columns.bank),
    ...named('account number', columns.account),
    ...named('name', columns.name),
  ].join('; ');
}

/** What is wrong with lines of the file, and what to do about it; a line of text for each kind. */
export function describeFaults({ rows, zeros }: RowsToCheck): string[] {
  const faults = new Map<string, number[]>();
  for (const { line, rowFault } of rows) {
    if (rowFault === null) continue;
    const lines = faults.get(rowFault.message);
    if (lines === undefined) faults.set(rowFault.message, [line]);
    else lines.push(line);
  }
  const count = [...faults.values()].reduce((sum, lines) => sum + lines.length, 0);
  const kinds = [...faults].map(
    ([message, lines]) => `  ${listed(lines)}: ${lines.length > 1 ? 'each ' : ''}${message}`,
  );
  const more = kinds.length > KINDS_SHOWN ? [`  and ${counted(kinds.length - KINDS_SHOWN)} more kinds of faults`] : [];
  return [
    ...(count === 0 ? [] : [`${countOf(count, 'row')} cannot be checked:`, ...kinds.slice(0, KINDS_SHOWN), ...more]),
    ...zerosLine(zeros.restored, 'checked with the zeros that the spreadsheet has removed'),
    ...zerosLine(zeros.uncertain, 'with a number in a cell that is no text, which may have lost zeros: compare them'),
  ];
}

const zerosLine = (lines: readonly number[], what: string): string[] =>
  lines.length === 0 ? [] : [`${countOf(lines.length, 'row')} ${what} (${listed(lines)})`];

function listed(lines: readonly number[]): string {
  const shown = lines.slice(0, LINES_SHOWN).join(', ');
  const rest = lines.length > LINES_SHOWN ? ` and ${counted(lines.length - LINES_SHOWN)} more` : '';
  return `${lines.length === 1 ? 'line' : 'lines'} ${shown}${rest}`;
}

const MEANINGS: readonly (readonly [result: RowResult, style: Style, meaning: string])[] = [
  ['valid', 'green', 'these accounts can receive money'],
  ['invalid', 'red', 'do not pay them: the account does not exist, or is not active'],
  ['unknown', 'yellow', 'no verdict, which says nothing about the account: check them again later'],
  ['rejected', 'red', 'not checked: correct these lines'],
];

const NAMES: readonly (readonly [match: string, label: string, meaning: string])[] = [
  ['NO_MATCH', 'no match', 'the account has the name of another person: ask the recipient before you pay'],
  ['CLOSE_MATCH', 'similar', 'the account has a similar name: a person should compare the two'],
];

export interface Finished {
  readonly summary: Summary;
  readonly outputFile: string;
  readonly elapsedMs: number;
}

/** The summary for people. */
export function describeSummary({ summary, outputFile, elapsedMs }: Finished, output: Output): string {
  const { rows, accounts, duplicates, results, names, banks } = summary;
  const width = counted(rows).length;
  const line = (count: number, label: string, meaning: string): string =>
    `${counted(count).padStart(width)} ${label}  ${meaning}`;
  const found = MEANINGS.filter(([result]) => results[result] > 0).map(([result, style, meaning]) =>
    line(results[result], output.paint(style, result.padEnd(8)), meaning),
  );
  const compared = NAMES.flatMap(([match, label, meaning]) => {
    const count = names[match] ?? 0;
    return count === 0 ? [] : [line(count, label.padEnd(8), meaning)];
  });
  const table = output.table<Summary['banks'][number]>([
    { title: 'BANK', cell: ({ bank }) => bank },
    ...MEANINGS.map(([result]) => ({
      title: result.toUpperCase(),
      right: true,
      cell: (counts: Summary['banks'][number]) => counted(counts[result]),
    })),
  ]);
  const facts = block([
    ['rows', `${counted(rows)}, of which ${counted(duplicates)} repeat an earlier one`],
    ['asked', `${countOf(accounts, 'account')} in ${duration(elapsedMs)}`],
    ['results', outputFile],
  ]);
  return [...found, ...compared, '', table.lines(banks), facts].join('\n');
}

/** As `tiba check`: 3 when an account cannot be paid, 5 when a person must decide or there is no verdict. */
export function exitCodeOf({ results, names }: Summary): ExitCode {
  if (results.invalid + results.rejected + (names['NO_MATCH'] ?? 0) > 0) return EXIT.no;
  return results.unknown + (names['CLOSE_MATCH'] ?? 0) + (names['NOT_POSSIBLE'] ?? 0) > 0 ? EXIT.open : EXIT.ok;
}
