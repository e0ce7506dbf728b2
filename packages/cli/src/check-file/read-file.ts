import { type DecodedText, decodeText, type Encoding } from './decode.ts';
import { readCsv } from './read-csv.ts';
import { readNdjson } from './read-ndjson.ts';
import { isWorkbook, readXlsx } from './read-xlsx.ts';
import { type Delimiter, type Table, UnusableFile } from './table.ts';

/** What the user says about the file; null where its content tells. */
export interface ReadOptions {
  readonly encoding: Encoding | null;
  readonly delimiter: Delimiter | null;
  /** The name of a sheet. */
  readonly sheet: string | null;
}

export interface ReadFile {
  readonly table: Table;
  readonly format: 'csv' | 'xlsx' | 'ndjson';
  /** Null for a workbook, which states its own. */
  readonly decoded: Omit<DecodedText, 'text'> | null;
}

/** Reads a file of accounts. Its content tells the format, because its name may not. @throws UnusableFile */
export async function readAccountFile(bytes: Buffer, options: ReadOptions): Promise<ReadFile> {
  if (isWorkbook(bytes)) return { table: await readXlsx(bytes, options.sheet), format: 'xlsx', decoded: null };
  const { text, ...decoded } = decodeText(bytes, options.encoding);
  const start = text.trimStart();
  if (start.startsWith('['))
    throw new UnusableFile('the file is a JSON array: write one object on each line instead (NDJSON)');
  return start.startsWith('{')
    ? { table: readNdjson(text), format: 'ndjson', decoded }
    : { table: readCsv(text, options.delimiter), format: 'csv', decoded };
}
