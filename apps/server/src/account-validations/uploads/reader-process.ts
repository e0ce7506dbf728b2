import { type Rows, resultOf } from './rows.ts';
import type { UploadFault, UploadMediaType, UploadResult, UploadRow } from './upload.ts';

/**
 * Run as a process of its own, this module reads one upload: the body arrives on stdin, the result leaves on stdout.
 */

type Reader = (body: Buffer, rows: Rows) => void | Promise<void>;

/** Only the reader of one format is loaded: a process reads one upload. */
const READERS: Readonly<Record<UploadMediaType, () => Promise<Reader>>> = {
  'application/json': async () => (await import('./read-json.ts')).readJson,
  'text/csv': async () => (await import('./read-csv.ts')).readCsv,
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': async () =>
    (await import('./xlsx/read-xlsx.ts')).readXlsx,
};

/** Reads an upload in this process. The service does it in a child process: `upload-reader.ts`. */
export async function readUpload(mediaType: UploadMediaType, body: Buffer): Promise<UploadResult> {
  const read = await READERS[mediaType]();
  return resultOf((rows) => read(body, rows));
}

/** A line of JSON from the child process: lines with some rows each, then one that ends the result. */
export type ResultLine = { readonly rows: readonly UploadRow[] } | { readonly end: UploadFault | null };

/** Few enough that the parent process parses a line in a tenth of a millisecond. */
const ROWS_PER_LINE = 100;

function* linesOf(result: UploadResult): Generator<string> {
  const rows = result.kind === 'rows' ? result.rows : [];
  for (let start = 0; start < rows.length; start += ROWS_PER_LINE) {
    yield lineOf({ rows: rows.slice(start, start + ROWS_PER_LINE) });
  }
  yield lineOf({ end: result.kind === 'rows' ? null : result });
}

const lineOf = (line: ResultLine): string => `${JSON.stringify(line)}\n`;

/** The body, whose length is known, so that it is in memory once only. */
async function readBody(stdin: AsyncIterable<Buffer>, length: number): Promise<Buffer> {
  const body = Buffer.allocUnsafeSlow(length);
  let end = 0;
  for await (const chunk of stdin) end += chunk.copy(body, end);
  return body.subarray(0, end);
}

if (import.meta.main) {
  const [, , mediaType, length] = process.argv;
  const result = await readUpload(mediaType as UploadMediaType, await readBody(process.stdin, Number(length)));
  for (const line of linesOf(result)) process.stdout.write(line);
}
