import { createAccountHash } from '../account-checks/account-hash.ts';
import { AccountNumber } from '../domain/account.ts';
import { type Bank, type BankDirectory, parseAccountNumber } from '../domain/bank.ts';
import { createEraser, type Eraser } from '../domain/eraser.ts';
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

/** Whether the transaction paid the person, or a status update about it names the person's number. */
export const concerns = (person: Person, history: TransactionHistory): boolean =>
  isPaid(person, history) || history.statusUpdates.some((update) => isConflictAbout(person, update));

const isPaid = ({ accountNumbers, isAt }: Person, { transaction }: Pick<TransactionHistory, 'transaction'>): boolean =>
  accountNumbers.includes(transaction.accountNumber) && isAt(transaction.bankCode);

/** A conflict may name another account than its transaction has. */
const isConflictAbout = ({ numbers }: Person, { outcome, raw }: TransactionHistory['statusUpdates'][number]): boolean =>
  outcome === 'conflict' && raw !== null && numbers.eraseJson(raw) !== raw;

/** What of a transaction is the person's: the numbers, and the names that stand beside them. */
function eraserOf(person: Person, history: TransactionHistory): Eraser {
  const names = isPaid(person, history) ? [history.transaction.accountName] : [];
  const inConflicts = history.statusUpdates
    .filter((update) => isConflictAbout(person, update))
    .flatMap(({ raw }) => accountNamesIn(raw ?? ''));
  return createEraser([...person.accountNumbers, ...names, ...inConflicts]);
}

function accountNamesIn(raw: string): string[] {
  const name = (JSON.parse(raw) as { readonly account_name?: unknown } | null)?.account_name;
  return typeof name === 'string' ? [name] : [];
}

/** The history as it is after the person was erased from it. */
export function eraseHistory(person: Person, history: TransactionHistory): TransactionHistory {
  const { eraseText, eraseJson } = eraserOf(person, history);
  const { transaction } = history;
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
    statusUpdates: history.statusUpdates.map((update) => ({
      ...update,
      reason: orNull(update.reason, eraseText),
      raw: orNull(update.raw, eraseJson),
    })),
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
