import assert from 'node:assert/strict';
import { readUpload } from '../../apps/server/src/account-validations/uploads/reader-process.ts';
import type {
  UploadFault,
  UploadMediaType,
  UploadResult,
  UploadRow,
} from '../../apps/server/src/account-validations/uploads/upload.ts';

export const JSON_TYPE = 'application/json' satisfies UploadMediaType;
export const CSV_TYPE = 'text/csv' satisfies UploadMediaType;
export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' satisfies UploadMediaType;

export function rowsOf(result: UploadResult | { readonly kind: 'busy' }): readonly UploadRow[] {
  assert.equal(result.kind, 'rows', `no rows: ${JSON.stringify(result)}`);
  return result.kind === 'rows' ? result.rows : [];
}

export async function readRows(mediaType: UploadMediaType, body: Buffer | string): Promise<readonly UploadRow[]> {
  return rowsOf(await readUpload(mediaType, Buffer.from(body)));
}

/** The upload is rejected as a whole, with this code and a message that matches. */
export async function assertRejected(
  mediaType: UploadMediaType,
  body: Buffer | string,
  message: RegExp,
  code: UploadFault['code'] = 'INVALID_FORMAT',
): Promise<void> {
  const result = await readUpload(mediaType, Buffer.from(body));
  assert.equal(result.kind, 'fault', JSON.stringify(result).slice(0, 500));
  if (result.kind !== 'fault') return;
  assert.equal(result.code, code, result.message.en);
  assert.match(result.message.en, message);
}

/** A row in one line, which is easier to compare by eye. */
export const summaryOf = ({ rowNumber, bankCode, accountNumber, expectedAccountName, reference }: UploadRow): string =>
  [rowNumber, bankCode, accountNumber, expectedAccountName, reference].map((each) => each ?? '-').join(' ');
