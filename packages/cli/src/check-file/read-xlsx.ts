import { UnreadableUpload } from '../../../../apps/server/src/account-validations/uploads/upload.ts';
import type { SheetCell } from '../../../../apps/server/src/account-validations/uploads/xlsx/cells.ts';
import type { WorkbookLimits } from '../../../../apps/server/src/account-validations/uploads/xlsx/parts.ts';
import { readWorkbook } from '../../../../apps/server/src/account-validations/uploads/xlsx/workbook.ts';
import { isBlank, requireFewRows, type Table, type TableRow, textOf, UnusableFile } from './table.ts';

/** A zip, or a compound file: a workbook with a password, or one in the format from before 2007. */
const SIGNATURES = ['504b0304', 'd0cf11e0a1b11ae1'].map((hex) => Buffer.from(hex, 'hex'));

export const isWorkbook = (bytes: Buffer): boolean =>
  SIGNATURES.some((signature) => bytes.subarray(0, signature.length).equals(signature));

/** The file is the user's own, so it may be far larger than an upload, and no cell is cut. */
const LIMITS: WorkbookLimits = {
  bytesMax: 1024 * 1024 * 1024,
  markupMax: 100_000_000,
  stringsMax: 10_000_000,
  stringsLengthMax: 256 * 1024 * 1024,
  cellLengthMax: 32_767,
};

/**
 * Reads a sheet of a workbook, by the service's own reader: the first visible one, or the one with the given name. The
 * first row that is not blank is the header row.
 * @throws UnusableFile when it cannot be read
 */
export async function readXlsx(bytes: Buffer, sheet: string | null): Promise<Table> {
  let header: readonly string[] | null = null;
  const rows: TableRow[] = [];

  function addRow(line: number, byColumn: ReadonlyMap<number, SheetCell>): void {
    const width = Math.max(...byColumn.keys());
    const cells = Array.from({ length: width }, (_, index) => byColumn.get(index + 1) ?? '');
    if (isBlank(cells)) return;
    if (header === null) header = cells.map((cell) => textOf(cell).trim());
    else rows.push({ line, cells, fault: null });
    requireFewRows(rows.length);
  }

  try {
    await readWorkbook(bytes, { limits: LIMITS, sheet }, addRow);
  } catch (error) {
    if (!(error instanceof UnreadableUpload)) throw error;
    throw new UnusableFile(error.fault.message.en, { cause: error });
  }
  if (header === null) throw new UnusableFile('the sheet is empty: name another one with --sheet');
  return { header, rows, delimiter: ',' };
}
