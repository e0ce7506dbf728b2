import { CsvError, parse } from 'csv-parse/sync';
import { type Delimiter, isBlank, requireFewRows, type Table, type TableRow, UnusableFile } from './table.ts';

/** A cell with line breaks, such as an address, has fewer. A quotation mark that is left open would take the rest. */
const RECORD_LINES_MAX = 50;

/**
 * Reads a CSV (RFC 4180) line by line, so that a line with a fault affects no other: it becomes a row with a `fault`.
 * @throws UnusableFile when there is no header row
 */
export function readCsv(text: string, given: Delimiter | null): Table {
  const lines = text.split(/\r\n|\n|\r/);
  const [, stated] = /^"?sep=([,;\t])"?$/i.exec(lines[0] ?? '') ?? [];
  let index = stated === undefined ? 0 : 1;
  while (index < lines.length && (lines[index] ?? '').trim() === '') index += 1;
  if (index === lines.length) throw new UnusableFile('the file is empty');

  const delimiter = given ?? (stated as Delimiter | undefined) ?? delimiterOf(lines[index] ?? '');
  const first = readRecord(lines, index, delimiter, 0);
  if (first.fault !== null) throw new UnusableFile(`line ${index + 1}, the header row, ${first.fault}`);
  const header = first.cells.map((name) => name.trim());
  const rows: TableRow[] = [];
  for (index = first.next; index < lines.length; ) {
    const record = readRecord(lines, index, delimiter, header.length);
    if (record.fault !== null || !isBlank(record.cells)) {
      requireFewRows(rows.length + 1);
      rows.push({ line: index + 1, cells: record.cells, fault: record.fault });
    }
    index = record.next;
  }
  return { header, rows, delimiter };
}

/** The separator that the header row has most often, outside quotation marks. */
function delimiterOf(header: string): Delimiter {
  const unquoted = header.replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: Delimiter): number => unquoted.split(delimiter).length;
  return ([';', '\t'] as const).reduce((best: Delimiter, each) => (count(each) > count(best) ? each : best), ',');
}

interface CsvRecord {
  readonly cells: readonly string[];
  readonly fault: string | null;
  /** The index of the line after it. */
  readonly next: number;
}

/** `width`: the cells of the header row; 0 for the header row itself. */
function readRecord(lines: readonly string[], index: number, delimiter: Delimiter, width: number): CsvRecord {
  const line = lines[index] ?? '';
  if (!line.includes('"')) return checkWidth(line.split(delimiter), index + 1, { delimiter, width });
  const faulty = (fault: string): CsvRecord => ({ cells: [line], fault, next: index + 1 });
  const end = endOfRecord(lines, index);
  if (end === null) return faulty(NOT_CLOSED);
  // A mark that is left open closes at the next one, lines later: those lines would be lost in its cell.
  const swallowed = lines.slice(index + 1, end).some((each) => width > 1 && each.split(delimiter).length >= width);
  if (swallowed) return faulty(NOT_CLOSED);
  try {
    const options = { delimiter, record_delimiter: '\r', relax_column_count: true } as const;
    const [cells = []] = parse(lines.slice(index, end).join('\n'), options);
    return checkWidth(cells, end, { delimiter, width });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return faulty(FAULTS[error.code] ?? 'cannot be read: save the file as CSV again');
  }
}

/** The index after the line in which all quotation marks are closed; null when they are not. */
function endOfRecord(lines: readonly string[], start: number): number | null {
  let marks = 0;
  for (let index = start; index < Math.min(lines.length, start + RECORD_LINES_MAX); index += 1) {
    marks += (lines[index] ?? '').split('"').length - 1;
    if (marks % 2 === 0) return index + 1;
  }
  return null;
}

interface Shape {
  readonly delimiter: Delimiter;
  readonly width: number;
}

function checkWidth(cells: readonly string[], next: number, { delimiter, width }: Shape): CsvRecord {
  const extra = cells.slice(width);
  if (width === 0 || extra.length === 0) return { cells, fault: null, next };
  if (extra.every((cell) => cell.trim() === '')) return { cells: cells.slice(0, width), fault: null, next };
  // An unquoted separator in a name moves the cells after it into wrong columns.
  return { cells: [cells.join(delimiter)], fault: TOO_WIDE, next };
}

const TOO_WIDE = 'has more cells than the header row: put a cell that contains the separator in quotation marks';
const NOT_CLOSED = 'opens a quotation mark that is not closed: close it, or double it if it is part of the text';
const FAULTS: Readonly<Partial<Record<string, string>>> = {
  CSV_QUOTE_NOT_CLOSED: NOT_CLOSED,
  CSV_INVALID_CLOSING_QUOTE:
    'continues after a closing quotation mark: double the quotation marks that are part of the text',
  INVALID_OPENING_QUOTE:
    'has a quotation mark inside a cell: put the whole cell in quotation marks, and double those of the text',
};
