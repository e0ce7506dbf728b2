import { addMoney } from '../domain/money.ts';
import { printedTransactionJson, type Transaction } from '../domain/transaction.ts';

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

/** SQL: the transaction `table`, for `parsePrinted`. The text begins with `head`, an SQL expression of type text. */
export const printed = (table: string, head = "''"): string =>
  `concat_ws(E'\\x02', ${head}, ${TEXT_COLUMNS.map((column) => `${table}.${column}`).join(', ')},
             coalesce(${table}.failure_reason, ''), ${table}.rendered)`;

/** Texts before those of the transaction, and in all. */
const HEAD = 1;
const TEXTS = HEAD + TEXT_COLUMNS.length + 6;

/** What `printed` selected: its head, and the transaction as a status check shows it, in JSON. */
export function parsePrinted(text: string): { readonly head: string; readonly json: string } {
  const texts = text.split(SEPARATOR);
  if (texts.length !== TEXTS) throw new Error('a stored transaction has an unknown format');
  const processed = texts[TEXTS - 1] ?? '';
  if (processed.startsWith('T')) texts[TEXTS - 1] = (texts[TEXTS - 2] ?? '').slice(0, DAY_LENGTH) + processed;
  // Most have nothing to escape, and a status check is the operation that clients poll.
  const isPlain = !text.includes('"') && !text.includes('\\');
  return { head: texts[0] ?? '', json: printedTransactionJson(texts, HEAD, isPlain) };
}

/** The data of an event: of a transaction as `printed` selects it, of other subjects in JSON. */
export const eventDataJson = (data: string): string => (data.startsWith('{') ? data : parsePrinted(data).json);
