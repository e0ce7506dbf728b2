/** Identifiers (docs/contract.md 2.4). They are compared exactly: no trimming, no normalization. */

const TRANSACTION_ID = /^[A-Z]{2,10}[0-9]{6,32}$/;
const REFERENCE_ID_LENGTH_MAX = 128;
// Control characters are the category Cc of Unicode: C0, DEL and C1.
// oxlint-disable-next-line no-control-regex -- it finds control characters
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
// Nearly every identifier is printable ASCII of at most 128 characters, for which this one test is enough.
const PLAIN = /^[\x20-\x7e]{1,128}$/;

/** A prefix of 2 to 10 capital letters followed by 6 to 32 digits. */
export const isTransactionId = (value: string): boolean => TRANSACTION_ID.test(value);

/** 1 to 128 Unicode characters (code points) without control characters or lone surrogates. */
export function isReferenceId(value: string): boolean {
  if (PLAIN.test(value)) return true;
  return isPlainText(value, REFERENCE_ID_LENGTH_MAX) && value !== '';
}

/** Whether the text has at most `lengthMax` code points, and PostgreSQL, JSON and a log line can hold it unchanged. */
export function isPlainText(value: string, lengthMax: number): boolean {
  // A code point takes at most two UTF-16 units, so a longer string needs no counting.
  if (value.length > 2 * lengthMax || !value.isWellFormed() || CONTROL_CHARACTER.test(value)) return false;
  return value.length <= lengthMax || Array.from(value).length <= lengthMax;
}

/**
 * The text without the invisible characters that change its writing direction (Unicode's Bidi_Control: U+061C, U+200E,
 * U+200F, U+202A to U+202E, U+2066 to U+2069). With them a page can display another name than the one that is stored.
 */
export const withoutBidiControls = (text: string): string => text.replaceAll(/\p{Bidi_Control}/gu, '');

interface Key {
  readonly clientId: string;
  readonly transactionId: string;
}

/** The order in which transactions are locked and written. IDs mostly grow with time. */
export function compareKeys(one: Key, other: Key): number {
  if (one.transactionId !== other.transactionId) return one.transactionId < other.transactionId ? -1 : 1;
  if (one.clientId === other.clientId) return 0;
  return one.clientId < other.clientId ? -1 : 1;
}

/** Whether they are in that order, and none is there twice. */
export const areInKeyOrder = (keys: readonly Key[]): boolean =>
  keys.every((key, index) => {
    const next = keys[index + 1];
    return next === undefined || compareKeys(key, next) < 0;
  });

/** A key for maps in memory. It is unambiguous, because no client_id and no identifier holds a control character. */
export const keyOf = (clientId: string, identifier: string): string => `${clientId}\u0001${identifier}`;
