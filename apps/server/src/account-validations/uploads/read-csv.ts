import { isUtf8 } from 'node:buffer';
import { CsvError, parse } from 'csv-parse/sync';
import { type Cell, type Column, isBlankRow, type Rows, readHeader } from './rows.ts';
import { invalid, tooLarge, UPLOAD_ROWS_MAX } from './upload.ts';

/** A row has four cells of at most 512 characters, and others that are ignored. */
const RECORD_LENGTH_MAX = 65_536;
/** Blank lines count too: skipping one takes longer than reading a row. */
const LINES_MAX = 2 * UPLOAD_ROWS_MAX;
/** Forty columns of 50,000 rows. An empty cell takes far more memory and time to read than to send. */
const CELLS_MAX = 40 * UPLOAD_ROWS_MAX;

/** Reads a CSV (RFC 4180) with a header row, in UTF-8, with commas or semicolons. @throws UnreadableUpload */
export function readCsv(body: Buffer, rows: Rows): void {
  if (!isUtf8(body)) throw invalid('the file is not UTF-8: save it as "CSV UTF-8"');
  const delimiter = delimiterOf(body);
  if (count(body, delimiter) > CELLS_MAX)
    throw tooLarge('it has far more cells than accounts need: keep only the four columns');
  let columns: ReadonlyMap<Column, number> | null = null;
  let columnsEnd = 0;
  // A row may span several lines; its row number is the first one.
  let line = 1;

  function addRecord(record: readonly string[]): void {
    if (columns === null) {
      if (record.every((name) => name.trim() === '')) return;
      columns = readHeader(record.entries());
      columnsEnd = record.length;
      return;
    }
    const positions = columns;
    const cells = (column: Column): Cell => record[positions.get(column) ?? -1] ?? null;
    const hasExtraCells = record.slice(columnsEnd).some((cell) => cell !== '');
    // An unquoted comma in a name moves the following cells into the wrong columns.
    const rowFault = hasExtraCells ? EXTRA_CELLS : null;
    if (rowFault !== null || !isBlankRow(cells)) rows.add(line, cells, rowFault);
  }

  try {
    parse(body, {
      bom: true,
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      max_record_size: RECORD_LENGTH_MAX,
      on_record(record: readonly string[]) {
        // The parser counts the characters of the cells only.
        if (record.length > RECORD_LENGTH_MAX) throw invalid(`the row at line ${line} ${TOO_LONG}`);
        addRecord(record);
        line += record.reduce((lines, cell) => lines + lineBreaksIn(cell), 1);
        if (line > LINES_MAX) throw tooLarge(`it has more than ${LINES_MAX} lines: remove blank lines`);
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw invalid(`the row at line ${line} ${FAULTS[error.code] ?? UNREADABLE}`);
    throw error;
  }
  if (columns === null) throw invalid('the file is empty');
}

const EXTRA_CELLS = 'has more cells than the header row: put a cell with a comma in quotation marks';
const UNREADABLE = 'cannot be read: save the file as CSV again';
const TOO_LONG = `is longer than ${RECORD_LENGTH_MAX} characters: close its quotation marks, or remove columns`;
const FAULTS: Readonly<Partial<Record<string, string>>> = {
  CSV_QUOTE_NOT_CLOSED: 'opens a quotation mark that is never closed: close it, or double it if it is part of the text',
  CSV_INVALID_CLOSING_QUOTE:
    'continues after a closing quotation mark: double the quotation marks that are part of the text',
  INVALID_OPENING_QUOTE:
    'has a quotation mark inside a cell: put the whole cell in quotation marks, ' +
    'and double those that are part of the text',
  CSV_MAX_RECORD_SIZE: TOO_LONG,
};

const lineBreaksIn = (cell: string): number => (cell.includes('\n') ? cell.split('\n').length - 1 : 0);

/** How often the character occurs, also within quotation marks: no legitimate upload has that many. */
function count(body: Buffer, character: ',' | ';'): number {
  const code = character.charCodeAt(0);
  let found = 0;
  for (let index = 0; index < body.length; index += 1) found += Number(body[index] === code);
  return found;
}

/** The delimiter that is more frequent in the header row, outside quotation marks. */
function delimiterOf(body: Buffer): ',' | ';' {
  const [header = ''] = body.toString('utf8', 0, RECORD_LENGTH_MAX).trimStart().split('\n', 1);
  const unquoted = header.replaceAll(/"[^"]*"/g, '');
  return unquoted.split(';').length > unquoted.split(',').length ? ';' : ',';
}
