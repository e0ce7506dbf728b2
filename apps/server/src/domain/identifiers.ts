/** Identifiers, as the contract's decisions have them ("Identifiers"). Compared exactly: no trimming, no normalisation. */

const TRANSACTION_ID = /^[A-Z]{2,10}[0-9]{6,32}$/;
const REFERENCE_ID_LENGTH_MAX = 128;
// Control characters are the category Cc of Unicode: C0, DEL and C1.
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
// Nearly every identifier is printable ASCII of modest length: one test settles it.
const PLAIN = /^[\x20-\x7e]{1,128}$/;

/** A prefix of 2 to 10 capital letters followed by 6 to 32 digits. */
export const isTransactionId = (value: string): boolean => TRANSACTION_ID.test(value);

/** 1 to 128 Unicode characters (code points) without control characters or lone surrogates. */
export function isReferenceId(value: string): boolean {
  if (PLAIN.test(value)) return true;
  return isPlainText(value, REFERENCE_ID_LENGTH_MAX) && value !== '';
}

/** Text that PostgreSQL, JSON and a log line can all hold unchanged, of at most `lengthMax` code points. */
export function isPlainText(value: string, lengthMax: number): boolean {
  // A code point takes at most two UTF-16 units, so a longer string needs no counting.
  if (value.length > 2 * lengthMax || !value.isWellFormed() || CONTROL_CHARACTER.test(value)) return false;
  return value.length <= lengthMax || Array.from(value).length <= lengthMax;
}

/** One key for something of a client's, for maps in memory. No client_id and no identifier holds a control character. */
export const keyOf = (clientId: string, identifier: string): string => `${clientId}\u0001${identifier}`;
