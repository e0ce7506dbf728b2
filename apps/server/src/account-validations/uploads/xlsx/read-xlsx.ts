import type { Rows } from '../rows.ts';
import { damaged, openParts } from './parts.ts';
import { readSharedStrings } from './shared-strings.ts';
import { readSheet } from './sheet.ts';
import { findWorkbook } from './workbook.ts';

/** Rows of a workbook's first sheet. @throws UnreadableUpload */
export async function readXlsx(body: Buffer, rows: Rows): Promise<void> {
  const parts = await openParts(body);
  const workbook = await findWorkbook(parts);
  const sharedStrings = await readSharedStrings(parts, workbook.sharedStrings);
  const sheet = await parts.open(workbook.sheet);
  if (sheet === null) throw damaged();
  await readSheet(sheet, parts, sharedStrings, rows);
}
