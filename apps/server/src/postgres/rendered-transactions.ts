import { addMoney } from '../domain/money.ts';
import {
  escapedTexts,
  printedTransactionJson,
  type Transaction,
  type TransactionTexts,
} from '../domain/transaction.ts';

/**
 * How the response of a status check is stored. The column `rendered` has what costs most to print, the amounts and
 * times; other columns have the rest, and the names of the fields are not stored (docs/decisions/0044).
 */

// No field contains a control character.
const SEPARATOR = '\u0002';

/** `2026-11-21` */
const DAY_LENGTH = 10;

/** The column `rendered` of a transaction. `processedAt` has no day when it is that of `createdAt`. */
export function renderedColumn({ amount, fee, createdAt, processedAt }: Transaction): string {
  const isSameDay = processedAt?.startsWith(createdAt.slice(0, DAY_LENGTH)) === true;
  const processed = isSameDay ? processedAt.slice(DAY_LENGTH) : (processedAt ?? '');
  return [amount, fee, addMoney(amount, fee), createdAt, processed].join(SEPARATOR);
}

/** `processedAt` with its day, from the column `rendered`. */
export const fullProcessedAt = (createdAt: string, processedAt: string): string =>
  processedAt.startsWith('T') ? createdAt.slice(0, DAY_LENGTH) + processedAt : processedAt;

const TEXT_COLUMNS = [
  'transaction_id',
  'reference_id',
  'status',
  'bank_code',
  'bank_name',
  'account_number',
  'account_name',
  'description',
] as const;

/** SQL: the transaction `table`, for `parsePrinted`. The text ends with `tail`, an SQL expression of type text. */
export const printed = (table: string, tail = "''"): string =>
  `concat_ws(E'\\x02', ${TEXT_COLUMNS.map((column) => `${table}.${column}`).join(', ')},
             coalesce(${table}.failure_reason, ''), ${table}.rendered, ${tail})`;

const CREATED_AT = 12;
const PROCESSED_AT = 13;
/** After the texts of the transaction. */
const TAIL = 14;

/** What `printed` selected: its tail, and the transaction as a status check shows it, in JSON. */
export function parsePrinted(text: string): { readonly tail: string; readonly json: string } {
  const texts = text.split(SEPARATOR);
  const tail = texts[TAIL];
  if (tail === undefined || texts.length > TAIL + 1) throw new Error('a stored transaction has an unknown format');
  const processed = texts[PROCESSED_AT] ?? '';
  if (processed !== '') texts[PROCESSED_AT] = fullProcessedAt(texts[CREATED_AT] ?? '', processed);
  const transaction = texts as unknown as TransactionTexts;
  // Most have nothing to escape, and a status check is the operation that clients poll.
  const isPlain = !text.includes('"') && !text.includes('\\');
  return { tail, json: printedTransactionJson(isPlain ? transaction : escapedTexts(transaction)) };
}

/**
 * The data of an event: of a transaction as `printed` selects it, of other subjects in JSON. null when the transaction
 * is gone, as after a deletion by hand: its ID is then all that is known, and the client's other events go on.
 */
export function eventDataJson(data: string | null, subjectId: string): string {
  if (data === null) return JSON.stringify({ transaction_id: subjectId });
  return data.startsWith('{') ? data : parsePrinted(data).json;
}
