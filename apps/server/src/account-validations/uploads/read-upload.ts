import { readCsv } from './read-csv.ts';
import { readJson } from './read-json.ts';
import { createRows, type Rows } from './rows.ts';
import { UnreadableUpload, type UploadMediaType, type UploadResult } from './upload.ts';
import { readXlsx } from './xlsx/read-xlsx.ts';

const READERS: Readonly<Record<UploadMediaType, (body: Buffer, rows: Rows) => void | Promise<void>>> = {
  'application/json': readJson,
  'text/csv': readCsv,
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': readXlsx,
};

/** Reads an upload here and now. The service leaves that to a process of its own: `upload-reader.ts`. */
export async function readUpload(mediaType: UploadMediaType, body: Buffer): Promise<UploadResult> {
  try {
    const rows = createRows();
    await READERS[mediaType](body, rows);
    return { kind: 'rows', rows: rows.all() };
  } catch (error) {
    if (!(error instanceof UnreadableUpload)) throw error;
    return error.fault;
  }
}
