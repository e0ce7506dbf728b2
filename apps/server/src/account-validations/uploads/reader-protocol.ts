import type { UploadFault, UploadResult, UploadRow } from './upload.ts';

/** A result on its way from the process that reads an upload: lines of JSON, with some rows each, and one that ends them. */
export type Line = { readonly rows: readonly UploadRow[] } | { readonly end: UploadFault | null };

/** So few that reading a line takes a tenth of a millisecond. */
const ROWS_PER_LINE = 100;

/** Of a hundred rows as long as rows can be, every character escaped. */
export const LINE_BYTES_MAX = 2 * 1024 * 1024;

export function* linesOf(result: UploadResult): Generator<string> {
  const rows = result.kind === 'rows' ? result.rows : [];
  for (let start = 0; start < rows.length; start += ROWS_PER_LINE) {
    yield lineOf({ rows: rows.slice(start, start + ROWS_PER_LINE) });
  }
  yield lineOf({ end: result.kind === 'rows' ? null : result });
}

const lineOf = (line: Line): string => `${JSON.stringify(line)}\n`;

/** Null for a line that was cut off: its process died over it. */
export function readLine(bytes: Buffer): Line | null {
  try {
    return JSON.parse(bytes.toString()) as Line;
  } catch {
    return null;
  }
}
