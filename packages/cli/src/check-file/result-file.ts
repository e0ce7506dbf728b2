import { type CsvValue, csvRow } from '../../../../apps/server/src/lib/csv.ts';
import type { RowAnswer } from './answers.ts';
import type { CheckedRow } from './read-rows.ts';
import { type Cell, type Table, textOf } from './table.ts';

/** Begins the name of each column that is added, so that none of the file's is meant. */
const PREFIX = 'tiba_';

const COLUMNS: readonly (readonly [name: string, value: (answer: RowAnswer, row: CheckedRow) => CsvValue])[] = [
  ['line', (_, { line }) => line],
  ['result', ({ result }) => result],
  ['status', ({ status }) => status],
  ['bank', (_, { bank }) => bank?.bank_name ?? null],
  ['account_name', ({ account_name: name }) => name],
  ['name_match', ({ name_match: match }) => match?.result ?? null],
  ['name_match_score', ({ name_match: match }) => match?.score ?? null],
  ['name_match_reasons', ({ name_match: match }) => match?.reasons.join(' ') ?? null],
  ['error_code', ({ error_code: code }) => code],
  ['message', ({ message }) => message],
  ['warning', ({ warning }) => warning],
  ['checked_at', ({ checked_at: time }) => time],
];

const BYTE_ORDER_MARK = '\uFEFF';
const LINES_PER_CHUNK = 1_000;

export interface ResultFile {
  readonly table: Table;
  readonly rows: readonly CheckedRow[];
  readonly answerOf: (row: CheckedRow) => RowAnswer;
  /** For spreadsheet programs, which otherwise read UTF-8 as the encoding of the machine. */
  readonly hasByteOrderMark: boolean;
}

/**
 * The rows of the file in its order, with its columns and those of the answers, as CSV (RFC 4180). A text that a
 * spreadsheet program would run as a formula is guarded as in the service's own CSV. Columns that an earlier run has
 * added are replaced.
 */
export function* resultChunks({ table, rows, answerOf, hasByteOrderMark }: ResultFile): Generator<string> {
  const { header, delimiter } = table;
  const kept = [...header.keys()].filter((column) => !(header[column] ?? '').startsWith(PREFIX));
  const line = (values: readonly CsvValue[]): string => csvRow(values, delimiter);
  const titles = [...kept.map((column) => header[column] ?? ''), ...COLUMNS.map(([name]) => PREFIX + name)];
  let chunk = (hasByteOrderMark ? BYTE_ORDER_MARK : '') + line(titles);
  for (const [index, row] of rows.entries()) {
    const answer = answerOf(row);
    chunk += line([
      ...kept.map((column) => cellValue(row.cells[column])),
      ...COLUMNS.map(([, valueOf]) => valueOf(answer, row)),
    ]);
    if (index % LINES_PER_CHUNK === 0) {
      yield chunk;
      chunk = '';
    }
  }
  yield chunk;
}

const cellValue = (cell: Cell | undefined): CsvValue => {
  const text = textOf(cell);
  return text === '' ? null : text;
};
