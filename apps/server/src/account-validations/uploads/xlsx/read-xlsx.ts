import type { BilingualText } from '../../../lib/bilingual-text.ts';
import { CELL_LENGTH_MAX, type Cell, type Column, isBlankRow, type NotText, type Rows, readHeader } from '../rows.ts';
import { invalid, UPLOAD_BYTES_MAX } from '../upload.ts';
import type { SheetCell, TypedCell } from './cells.ts';
import type { WorkbookLimits } from './parts.ts';
import { readWorkbook } from './workbook.ts';

const LIMITS: WorkbookLimits = {
  // 50,000 rows of twelve columns take 45 MB, and have 3.6 million elements and attributes.
  bytesMax: 64 * 1024 * 1024,
  markupMax: 5_000_000,
  stringsMax: 500_000,
  stringsLengthMax: UPLOAD_BYTES_MAX,
  cellLengthMax: CELL_LENGTH_MAX,
};

/** Reads the first visible sheet of a workbook. The first row with text is the header row. @throws UnreadableUpload */
export async function readXlsx(body: Buffer, rows: Rows): Promise<void> {
  let columns: ReadonlyMap<Column, number> | null = null;

  function addRow(rowNumber: number, cells: ReadonlyMap<number, SheetCell>): void {
    if (columns === null) {
      const names = [...cells].filter((entry): entry is [number, string] => typeof entry[1] === 'string');
      if (names.length > 0) columns = readHeader(names);
      return;
    }
    const positions = columns;
    const cellOf = (column: Column): Cell => contentOf(cells.get(positions.get(column) ?? 0));
    if (!isBlankRow(cellOf)) rows.add(rowNumber, cellOf);
  }

  await readWorkbook(body, { limits: LIMITS, sheet: null }, addRow);
  if (columns === null)
    throw invalid({
      en: 'the first sheet is empty: put the accounts there, under a header row',
      id: 'lembar pertama kosong: taruh rekening di sana, di bawah baris judul',
    });
}

const contentOf = (cell: SheetCell | undefined): Cell =>
  cell === undefined || typeof cell === 'string' ? (cell ?? null) : FAULTS[cell.kind];

const AS_TEXT: BilingualText = {
  en: 'format the column as text and type the values again',
  id: 'format kolom sebagai teks dan ketik ulang nilainya',
};
const notText = (en: string, id: string): NotText => ({
  fault: { en: `${en}${AS_TEXT.en}`, id: `${id}${AS_TEXT.id}` },
});

const FAULTS: Readonly<Record<TypedCell['kind'], NotText>> = {
  number: notText('is a number: ', 'berupa angka: '),
  boolean: notText('is TRUE or FALSE: ', 'berupa TRUE atau FALSE: '),
  date: notText('is a date: ', 'berupa tanggal: '),
  error: notText(
    'is the error of a formula: correct the formula, or ',
    'berupa kesalahan rumus: perbaiki rumusnya, atau ',
  ),
};
