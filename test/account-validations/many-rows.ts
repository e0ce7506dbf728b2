import writeWorkbook from 'write-excel-file/node';
import { COLUMNS } from '../../apps/server/src/account-validations/uploads/rows.ts';
import type { UploadMediaType } from '../../apps/server/src/account-validations/uploads/upload.ts';
import { CSV_TYPE, JSON_TYPE, XLSX_TYPE } from './uploads.ts';

const cellsOf = (index: number): readonly string[] => [
  '014',
  String(index).padStart(10, '0'),
  `NAME OF HOLDER ${index}`,
  `PAYROLL-2026-11/${index}`,
];

/** The same accounts in each upload format. */
export async function manyRows(count: number): Promise<Readonly<Record<UploadMediaType, Buffer>>> {
  const rows = Array.from({ length: count }, (_, index) => cellsOf(index));
  const accounts = rows.map((row) => Object.fromEntries(COLUMNS.map((column, place) => [column, row[place]])));
  const table = [COLUMNS, ...rows];
  const sheet = table.map((row) => row.map((value) => ({ value, type: String })));
  return {
    [JSON_TYPE]: Buffer.from(JSON.stringify({ accounts })),
    [CSV_TYPE]: Buffer.from(table.map((row) => `${row.join(',')}\r\n`).join('')),
    [XLSX_TYPE]: await writeWorkbook(sheet).toBuffer(),
  };
}
