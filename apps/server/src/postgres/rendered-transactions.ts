import { addDigits, addMoney } from '../domain/money.ts';
import {
  escapedTexts,
  printedTransactionJson,
  type ShownAmountsAndTimes,
  type ShownTexts,
  type Transaction,
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
  const shortAmount = isWhole ? withoutCents(amount) : amount;
  const shortFee = isWhole ? withoutCents(fee) : fee;
  const sum = isWhole ? addDigits(shortAmount, shortFee) : addMoney(amount, fee);
  const total = withoutBeginning(sum, shortAmount);
  const inProcess = `${shortAmount}${SEPARATOR}${shortFee}${SEPARATOR}${total}${SEPARATOR}${createdAt}${SEPARATOR}`;
  return endedColumn(inProcess, { createdAt, processedAt });
}

const withoutCents = (money: string): string => money.slice(0, -NO_CENTS.length);

/** The column of a transaction that ends, from its column before. */
export const endedColumn = (
  rendered: string,
  { createdAt, processedAt }: Pick<Transaction, 'createdAt' | 'processedAt'>,
): string => (processedAt === null ? rendered : rendered + withoutBeginning(processedAt, createdAt));

/**
 * `text` without what it begins with as `other` does; its last character stays. `text` is never shorter than `other`:
 * times have one length, and a total amount is no smaller than the amount. So what is shorter was shortened.
 */
function withoutBeginning(text: string, other: string): string {
  if (text.length !== other.length) return text;
  let start = 0;
  while (start < text.length - 1 && text.charCodeAt(start) === other.charCodeAt(start)) start += 1;
  return text.slice(start);
}

const withBeginning = (text: string, other: string): string =>
  text.length < other.length ? other.slice(0, other.length - text.length) + text : text;

const withBeginningOrEmpty = (text: string, other: string): string => (text === '' ? '' : withBeginning(text, other));

/** The texts of the column, with what `renderedColumn` left out. `next` returns the next text of the column. */
export function readRenderedColumn(next: () => string): ShownAmountsAndTimes {
  const amount = next();
  const fee = next();
  const totalAmount = withBeginning(next(), amount);
  const createdAt = next();
  const processedAt = withBeginningOrEmpty(next(), createdAt);
  return amount.includes('.')
    ? { amount, fee, totalAmount, createdAt, processedAt }
    : {
        amount: amount + NO_CENTS,
        fee: fee + NO_CENTS,
        totalAmount: totalAmount + NO_CENTS,
        createdAt,
        processedAt,
      };
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

/** What `printed` selected: its tail, and the transaction as a status check shows it, in JSON. */
export function parsePrinted(text: string): { readonly tail: string; readonly json: string } {
  const { next, rest } = separatedTexts(text);
  const texts: ShownTexts = {
    transactionId: next(),
    referenceId: next(),
    status: next(),
    bankCode: next(),
    bankName: next(),
    accountNumber: next(),
    accountName: next(),
    description: next(),
    failureReason: next(),
  };
  const amountsAndTimes = readRenderedColumn(next);
  // Most have nothing to escape, and a status check is the operation that clients poll.
  const isPlain = !text.includes('"') && !text.includes('\\');
  const json = printedTransactionJson(isPlain ? texts : escapedTexts(texts), amountsAndTimes);
  return { tail: rest(), json };
}

/** Reads the texts between separators, one by one: `split` would make an array of them for each status check. */
export function separatedTexts(text: string): { readonly next: () => string; readonly rest: () => string } {
  let start = 0;
  return {
    next() {
      const end = text.indexOf(SEPARATOR, start);
      if (end === -1) throw new Error(UNKNOWN_FORMAT);
      const found = text.slice(start, end);
      start = end + 1;
      return found;
    },
    rest() {
      if (text.includes(SEPARATOR, start)) throw new Error(UNKNOWN_FORMAT);
      return text.slice(start);
    },
  };
}

const UNKNOWN_FORMAT = 'a stored transaction has an unknown format';

/**
 * The data of an event: of a transaction as `printed` selects it, of other subjects in JSON. null when the transaction
 * is gone, as after a deletion by hand: its ID is then all that is known, and the client's other events go on.
 */
export function eventDataJson(data: string | null, subjectId: string): string {
  if (data === null) return JSON.stringify({ transaction_id: subjectId });
  return data.startsWith('{') ? data : parsePrinted(data).json;
}
