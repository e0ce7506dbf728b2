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

type AmountsAndTimes = Pick<Transaction, 'amount' | 'fee' | 'createdAt' | 'processedAt'>;

const NO_CENTS = '.00';

/**
 * The column `rendered` of a transaction: amount, fee, total amount, `createdAt` and `processedAt`, which is empty
 * while there is none. What follows from the rest is left out: the cents when amount and fee have none, what the total
 * amount begins with as the amount does, and what `processedAt` begins with as `createdAt` does.
 */
export function renderedColumn({ amount, fee, createdAt, processedAt }: AmountsAndTimes): string {
  const isWhole = amount.endsWith(NO_CENTS) && fee.endsWith(NO_CENTS);
  const short = (money: string): string => (isWhole ? money.slice(0, -NO_CENTS.length) : money);
  const total = withoutBeginning(short(addMoney(amount, fee)), short(amount));
  const processed = processedAt === null ? '' : withoutBeginning(processedAt, createdAt);
  return [short(amount), short(fee), total, createdAt, processed].join(SEPARATOR);
}

/**
 * `text` without what it begins with as `other` does; its last character stays. `text` is never shorter than `other`:
 * times have one length, and a total amount is no smaller than the amount. So what is shorter was shortened.
 */
function withoutBeginning(text: string, other: string): string {
  if (text.length !== other.length) return text;
  let start = 0;
  while (start < text.length - 1 && text[start] === other[start]) start += 1;
  return text.slice(start);
}

const withBeginning = (text: string, other: string): string =>
  text.length < other.length ? other.slice(0, other.length - text.length) + text : text;

/**
 * Puts back what `renderedColumn` left out. The texts of the column begin at `index` among `texts`. They are changed in
 * place, because each status check runs this.
 */
export function completeRendered(texts: string[], index: number): void {
  const amount = texts[index] ?? '';
  const total = withBeginning(texts[index + 2] ?? '', amount);
  if (amount.includes('.')) {
    texts[index + 2] = total;
  } else {
    texts[index] = amount + NO_CENTS;
    texts[index + 1] += NO_CENTS;
    texts[index + 2] = total + NO_CENTS;
  }
  const processedAt = texts[index + 4] ?? '';
  if (processedAt !== '') texts[index + 4] = withBeginning(processedAt, texts[index + 3] ?? '');
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

/** SQL: the transaction `table`, for `parsePrinted`. The text ends with `tail`, an SQL expression of type text. */
export const printed = (table: string, tail = "''"): string =>
  `concat_ws(E'\\x02', ${TEXT_COLUMNS.map((column) => `${table}.${column}`).join(', ')},
             coalesce(${table}.failure_reason, ''), ${table}.rendered, ${tail})`;

const AMOUNT = 9;
/** After the texts of the transaction. */
const TAIL = 14;

/** What `printed` selected: its tail, and the transaction as a status check shows it, in JSON. */
export function parsePrinted(text: string): { readonly tail: string; readonly json: string } {
  const texts = text.split(SEPARATOR);
  const tail = texts[TAIL];
  if (tail === undefined || texts.length > TAIL + 1) throw new Error('a stored transaction has an unknown format');
  completeRendered(texts, AMOUNT);
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
