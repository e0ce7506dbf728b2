import { createAccountHash } from '../account-checks/account-hash.ts';
import { AccountNumber } from '../domain/account.ts';
import { type Bank, type BankDirectory, parseAccountNumber } from '../domain/bank.ts';
import { createEraser, type Eraser } from '../domain/eraser.ts';
import { toStoredText } from '../domain/stored-text.ts';
import type { Transaction } from '../domain/transaction.ts';
import type { TransactionHistory } from '../postgres/transaction-histories.ts';

/** The account whose holder asks for what is stored. */
export interface Person {
  /** The number in each form in which a core may have sent it. */
  readonly accountNumbers: readonly string[];
  /** The account hashes of checks of the account, at each bank where it may be. */
  readonly accountHashes: readonly string[];
  /** For the record of what operators did, instead of the number. */
  readonly hash: string;
  /** Whether an account at the bank with this code is the person's. */
  readonly isAt: (bankCode: string) => boolean;
  /** Finds the numbers. */
  readonly numbers: Eraser;
}

export interface PersonDependencies {
  readonly banks: BankDirectory;
  readonly dataKey: Buffer;
}

/** No bank has this code: the hash of a person is no hash of an account. */
const NO_BANK = '';

/** `bank`: the only bank at which the number is the person's; null for all of them. */
export function createPerson(text: string, bank: Bank | null, { banks, dataKey }: PersonDependencies): Person {
  const hashAccount = createAccountHash(dataKey);
  const mobile = AccountNumber.parseMobile(text)?.reveal() ?? null;
  const accountNumbers =
    mobile === null
      ? [...new Set([text, text.toLowerCase()])]
      : [mobile, `62${mobile.slice(1)}`, `+62${mobile.slice(1)}`];
  const hashes = (bank === null ? banks.list() : [bank]).flatMap((each) => {
    const number = parseAccountNumber(each, text);
    return number === null ? [] : [hashAccount(each.bic, number.reveal())];
  });
  return {
    accountNumbers,
    accountHashes: [...new Set(hashes)],
    hash: hashAccount(NO_BANK, mobile ?? text.toLowerCase()),
    isAt: (bankCode) => bank === null || banks.find(bankCode)?.bic === bank.bic,
    numbers: createEraser(accountNumbers),
  };
}

/** The account that a transaction paid, or that a conflict says it paid. */
type Payee = Pick<Transaction, 'accountNumber' | 'accountName' | 'bankCode'>;

type StatusUpdate = TransactionHistory['statusUpdates'][number];

/** Whether the transaction paid the person, or a conflicting status update at the person's bank names the number. */
export const concerns = (person: Person, { transaction, statusUpdates }: TransactionHistory): boolean =>
  isTheirs(person, transaction) || statusUpdates.some((update) => isConflictAbout(person, update, transaction));

const isTheirs = ({ accountNumbers, isAt }: Person, { accountNumber, bankCode }: Payee): boolean =>
  accountNumbers.includes(accountNumber) && isAt(bankCode);

/** A conflict may name another account than its transaction has, or name the number in a text. */
const isConflictAbout = ({ numbers, isAt }: Person, update: StatusUpdate, transaction: Transaction): boolean => {
  const { outcome, raw } = update;
  if (outcome !== 'conflict' || raw === null || numbers.eraseJson(raw) === raw) return false;
  return isAt(payeeOf(update, transaction).bankCode);
};

/** All updates but conflicts pay the account of their transaction, and so does a conflict in what it leaves out. */
function payeeOf({ outcome, raw }: StatusUpdate, transaction: Transaction): Payee {
  if (outcome !== 'conflict' || raw === null) return transaction;
  const fields = (JSON.parse(raw) ?? {}) as Readonly<Record<string, unknown>>;
  const textOf = (name: string, own: string): string => {
    const value = fields[name];
    return typeof value === 'string' ? toStoredText(value) : own;
  };
  return {
    accountNumber: textOf('account_number', transaction.accountNumber),
    accountName: textOf('account_name', transaction.accountName),
    bankCode: textOf('bank_code', transaction.bankCode),
  };
}

/**
 * The erasers of a history, by what a text of it says was paid. The names of the person are those that stand beside the
 * person's account. In texts about another account, what belongs to its holder stays: the name that stands there, and
 * the number if it is the same one at another bank.
 */
function erasersOf(person: Person, { transaction, statusUpdates }: TransactionHistory): (payee: Payee) => Eraser {
  // Of a payment to the person, a conflict may have another bank: number and name say that it is the same account.
  const isPaid = isTheirs(person, transaction);
  const isOwn = (payee: Payee): boolean =>
    isTheirs(person, payee) ||
    (isPaid && payee.accountNumber === transaction.accountNumber && payee.accountName === transaction.accountName);
  const payees = [transaction, ...statusUpdates.map((update) => payeeOf(update, transaction))];
  const names = [...new Set(payees.filter(isOwn).map(({ accountName }) => accountName))];
  return (payee) => {
    if (isOwn(payee)) return createEraser([...person.accountNumbers, ...names]);
    const numbers = person.accountNumbers.includes(payee.accountNumber) ? [] : person.accountNumbers;
    return createEraser([...numbers, ...names.filter((name) => !createEraser([name]).finds(payee.accountName))]);
  };
}

/** The history as it is after the person was erased from it. */
export function eraseHistory(person: Person, history: TransactionHistory): TransactionHistory {
  const { transaction } = history;
  const eraserFor = erasersOf(person, history);
  const own = eraserFor(transaction);
  const { eraseText, eraseJson } = own;
  const orNull = (text: string | null, erase: (text: string) => string): string | null =>
    text === null ? null : erase(text);
  return {
    transaction: {
      ...transaction,
      accountNumber: eraseText(transaction.accountNumber),
      accountName: eraseText(transaction.accountName),
      description: eraseText(transaction.description),
      failureReason: orNull(transaction.failureReason, eraseText),
    },
    statusUpdates: history.statusUpdates.map((update) => {
      const payee = payeeOf(update, transaction);
      const eraser = payee === transaction ? own : eraserFor(payee);
      return { ...update, reason: orNull(update.reason, eraser.eraseText), raw: orNull(update.raw, eraser.eraseJson) };
    }),
    events: history.events.map((event) => ({ ...event, data: orNull(event.data, eraseJson) })),
    deliveries: history.deliveries.map((delivery) => ({
      ...delivery,
      attempts: delivery.attempts.map((attempt) => ({
        ...attempt,
        answer: orNull(attempt.answer, eraseText),
        error: orNull(attempt.error, eraseText),
      })),
    })),
  };
}
