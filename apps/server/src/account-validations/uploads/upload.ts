/** What a client sends to have many accounts checked at once, and what reading it comes to: docs/account-validations.md. */

export const UPLOAD_MEDIA_TYPES = [
  'application/json',
  'text/csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
] as const;

export type UploadMediaType = (typeof UPLOAD_MEDIA_TYPES)[number];

/** 50,000 rows with long names and references take half of it. */
export const UPLOAD_BYTES_MAX = 16 * 1024 * 1024;
export const UPLOAD_ROWS_MAX = 50_000;

/** Text is as it was sent, never empty, at most 512 characters and none of them a control character. Null is none. */
export interface UploadRow {
  /** As its sender counts: the place in `accounts` from 1, the line of a CSV, the row of a sheet. */
  readonly rowNumber: number;
  readonly bankCode: string | null;
  readonly accountNumber: string | null;
  readonly expectedAccountName: string | null;
  readonly reference: string | null;
  /** What is wrong already, for its sender; the values it is about are null. */
  readonly fault: string | null;
}

export type UploadResult = { readonly kind: 'rows'; readonly rows: readonly UploadRow[] } | UploadFault;

/** The upload as a whole cannot be taken. */
export interface UploadFault {
  readonly kind: 'fault';
  readonly code: 'INVALID_FORMAT' | 'PAYLOAD_TOO_LARGE';
  /** For the sender: what is wrong, and what to do. Quotes nothing of what was sent. */
  readonly message: string;
}

/** Leaves the reading of an upload at the first fault of the whole. */
export class UnreadableUpload extends Error {
  readonly fault: UploadFault;

  constructor(fault: UploadFault) {
    super(fault.message);
    this.fault = fault;
  }
}

export const invalid = (what: string): UnreadableUpload =>
  new UnreadableUpload({ kind: 'fault', code: 'INVALID_FORMAT', message: `Invalid format: ${what}` });

export const tooLarge = (what: string): UnreadableUpload =>
  new UnreadableUpload({ kind: 'fault', code: 'PAYLOAD_TOO_LARGE', message: `The upload is too large: ${what}` });
