import type { BilingualText } from '../../lib/bilingual-text.ts';

/**
 * An upload of many accounts, and the result of reading it. The formats are described in docs/account-validations.md.
 */

export const UPLOAD_MEDIA_TYPES = [
  'application/json',
  'text/csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
] as const;

export type UploadMediaType = (typeof UPLOAD_MEDIA_TYPES)[number];

/** 50,000 rows with long names and references take half of it. */
export const UPLOAD_BYTES_MAX = 16 * 1024 * 1024;
export const UPLOAD_ROWS_MAX = 50_000;

/** Text is as it was sent: 1 to 512 characters, none of them a control character. Null when the field is missing. */
export interface UploadRow {
  /** As the sender counts: the position in `accounts` from 1, the line of a CSV, or the row of a sheet. */
  readonly rowNumber: number;
  readonly bankCode: string | null;
  readonly accountNumber: string | null;
  readonly expectedAccountName: string | null;
  readonly reference: string | null;
  /** What reading has found wrong with the row, for the sender. The values that it concerns are null. */
  readonly fault: BilingualText | null;
}

export type UploadResult = { readonly kind: 'rows'; readonly rows: readonly UploadRow[] } | UploadFault;

/** The upload as a whole is rejected. */
export interface UploadFault {
  readonly kind: 'fault';
  readonly code: 'INVALID_FORMAT' | 'PAYLOAD_TOO_LARGE';
  /** For the sender: what is wrong and what to do. It quotes nothing of the upload. */
  readonly message: BilingualText;
}

/** Thrown at the first fault of the upload as a whole, which ends the reading. */
export class UnreadableUpload extends Error {
  readonly fault: UploadFault;

  constructor(fault: UploadFault) {
    super(fault.message.en);
    this.fault = fault;
  }
}

export const invalid = ({ en, id }: BilingualText): UnreadableUpload => {
  const message = { en: `Invalid format: ${en}`, id: `Format tidak valid: ${id}` };
  return new UnreadableUpload({ kind: 'fault', code: 'INVALID_FORMAT', message });
};

export const tooLarge = ({ en, id }: BilingualText): UnreadableUpload => {
  const message = { en: `The upload is too large: ${en}`, id: `Unggahan terlalu besar: ${id}` };
  return new UnreadableUpload({ kind: 'fault', code: 'PAYLOAD_TOO_LARGE', message });
};
