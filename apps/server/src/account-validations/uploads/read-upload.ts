import { readCsv } from './read-csv.ts';
import { readJson } from './read-json.ts';
import { type Rows, resultOf } from './rows.ts';
import type { UploadMediaType, UploadResult } from './upload.ts';
import { readXlsx } from './xlsx/read-xlsx.ts';

const READERS: Readonly<Record<UploadMediaType, (body: Buffer, rows: Rows) => void | Promise<void>>> = {
  'application/json': readJson,
  'text/csv': readCsv,
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': readXlsx,
};

/** Reads an upload here and now. The service leaves that to a process of its own: `upload-reader.ts`. */
export const readUpload = (mediaType: UploadMediaType, body: Buffer): Promise<UploadResult> =>
  resultOf((rows) => READERS[mediaType](body, rows));
