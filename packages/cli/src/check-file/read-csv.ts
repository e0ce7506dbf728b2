import { CsvError, parse } from 'csv-parse/sync';
import { type Delimiter, isBlank, requireFewRows, type Table, type TableRow, UnusableFile } from './table.ts';

/**
 * Reads a CSV (RFC 4180) line by line, so that a line with a fault affects no other: it becomes a row with a `fault`.
 * The text of a quoted cell never becomes rows, whatever line breaks and separators it has.
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
  const found = endOfRecord(lines, index, delimiter);
  const end = found ?? index + 1;
  const text = lines.slice(index, end).join('\n');
  const faulty = (fault: string): CsvRecord => ({ cells: [text], fault, next: end });
  if (found === null && isOpen(line, delimiter)) return faulty(NOT_CLOSED);
  // Two marks that are left open look like one cell, which hides the rows between them.
  const hasRows = lines.slice(index + 1, end).some((each) => width > 1 && each.split(delimiter).length >= width);
  if (hasRows) return faulty(`${HAS_ROWS} (up to line ${end}): ${REMOVE_BREAKS}`);
  try {
    const options = { delimiter, record_delimiter: '\r', relax_column_count: true } as const;
    const [cells = []] = parse(text, options);
    return checkWidth(cells, end, { delimiter, width });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return faulty(FAULTS[error.code] ?? 'cannot be read: save the file as CSV again');
  }
}

/** The index after the line in which all quoted cells are closed; null when one never is, or text follows its end. */
function endOfRecord(lines: readonly string[], start: number, delimiter: Delimiter): number | null {
  let state: QuoteState = 'closed';
  for (let index = start; index < lines.length; index += 1) {
    state = afterLine(lines[index] ?? '', delimiter, state);
    if (state === 'faulty') return null;
    if (state === 'closed') return index + 1;
  }
  return null;
}

type QuoteState = 'closed' | 'open' | 'faulty';

const isOpen = (line: string, delimiter: Delimiter): boolean => afterLine(line, delimiter, 'closed') === 'open';

/** Whether a quoted cell is open at the end of the line: a mark opens one at its start only, and doubled it is text. */
function afterLine(line: string, delimiter: Delimiter, before: QuoteState): QuoteState {
  let isQuoted = before === 'open';
  for (let at = 0; at < line.length; ) {
    const mark = line.indexOf('"', at);
    if (!isQuoted) {
      const separator = line.indexOf(delimiter, at);
      const cellEnd = separator === -1 ? line.length : separator;
      isQuoted = mark === at;
      if (!isQuoted && mark !== -1 && mark < cellEnd) return 'faulty';
      at = isQuoted ? at + 1 : cellEnd + 1;
    } else if (mark === -1) return 'open';
    else if (line[mark + 1] === '"') at = mark + 2;
    else {
      if (mark + 1 < line.length && line[mark + 1] !== delimiter) return 'faulty';
      isQuoted = false;
      at = mark + 2;
    }
  }
  return isQuoted ? 'open' : 'closed';
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
const HAS_ROWS = 'has a quoted cell with lines that look like rows';
const REMOVE_BREAKS = 'close the quotation mark, or take the line breaks out of the cell';
const NOT_CLOSED = 'opens a quotation mark that is not closed: close it, or double it if it is part of the text';
const FAULTS: Readonly<Partial<Record<string, string>>> = {
  CSV_QUOTE_NOT_CLOSED: NOT_CLOSED,
  CSV_INVALID_CLOSING_QUOTE:
    'continues after a closing quotation mark: double the quotation marks that are part of the text',
  INVALID_OPENING_QUOTE:
    'has a quotation mark inside a cell: put the whole cell in quotation marks, and double those of the text',
};
