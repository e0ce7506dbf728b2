import { isUtf8 } from 'node:buffer';
import { CsvError, parse } from 'csv-parse/sync';
import type { BilingualText } from '../../lib/bilingual-text.ts';
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
  if (!isUtf8(body))
    throw invalid({
      en: 'the file is not UTF-8: save it as "CSV UTF-8"',
      id: 'berkas bukan UTF-8: simpan sebagai "CSV UTF-8"',
    });
  const delimiter = delimiterOf(body);
  if (count(body, delimiter) > CELLS_MAX)
    throw tooLarge({
      en: 'it has far more cells than accounts need: keep only the four columns',
      id: 'jumlah selnya jauh melebihi yang diperlukan: sisakan empat kolom saja',
    });
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
        if (record.length > RECORD_LENGTH_MAX) throw invalid(atLine(line, TOO_LONG));
        addRecord(record);
        line += record.reduce((lines, cell) => lines + lineBreaksIn(cell), 1);
        if (line > LINES_MAX) throw tooLarge(TOO_MANY_LINES);
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw invalid(atLine(line, FAULTS[error.code] ?? UNREADABLE));
    throw error;
  }
  if (columns === null)
    throw invalid({
      en: 'the file is empty',
      id: 'berkas kosong',
    });
}

const atLine = (line: number, fault: BilingualText): BilingualText => ({
  en: `the row at line ${line} ${fault.en}`,
  id: `data pada baris ${line} ${fault.id}`,
});

const TOO_MANY_LINES: BilingualText = {
  en: `it has more than ${LINES_MAX} lines: remove blank lines`,
  id: `isinya lebih dari ${LINES_MAX} baris: hapus baris kosong`,
};
const EXTRA_CELLS: BilingualText = {
  en: 'has more cells than the header row: put a cell with a comma in quotation marks',
  id: 'memiliki lebih banyak sel daripada baris judul: beri tanda kutip pada sel yang berisi koma',
};
const UNREADABLE: BilingualText = {
  en: 'cannot be read: save the file as CSV again',
  id: 'tidak dapat dibaca: simpan lagi berkas sebagai CSV',
};
const TOO_LONG: BilingualText = {
  en: `is longer than ${RECORD_LENGTH_MAX} characters: close its quotation marks, or remove columns`,
  id: `lebih panjang dari ${RECORD_LENGTH_MAX} karakter: tutup tanda kutipnya, atau hapus kolom`,
};
const FAULTS: Readonly<Partial<Record<string, BilingualText>>> = {
  CSV_QUOTE_NOT_CLOSED: {
    en: 'opens a quotation mark that is never closed: close it, or double it if it is part of the text',
    id: 'membuka tanda kutip yang tidak pernah ditutup: tutup, atau tulis dua kali jika merupakan bagian dari teks',
  },
  CSV_INVALID_CLOSING_QUOTE: {
    en: 'continues after a closing quotation mark: double the quotation marks that are part of the text',
    id: 'berlanjut setelah tanda kutip penutup: tulis dua kali tanda kutip yang merupakan bagian dari teks',
  },
  INVALID_OPENING_QUOTE: {
    en:
      'has a quotation mark inside a cell: put the whole cell in quotation marks, ' +
      'and double those that are part of the text',
    id:
      'memiliki tanda kutip di dalam sel: beri tanda kutip pada seluruh sel, ' +
      'dan tulis dua kali tanda kutip yang merupakan bagian dari teks',
  },
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
