import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { statusUpdate, type TestService } from '../support/service.ts';

/** A second implementation of the filters of docs/contract.md 4.5, over transactions in memory. */

export interface ModelTransaction {
  readonly client_id: string;
  readonly transaction_id: string;
  readonly status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  readonly amount: string;
  readonly bank_code: string;
  readonly account_number: string;
  readonly created_at: string;
  readonly processed_at: string | null;
}

export type Filter = Readonly<
  Partial<
    Record<
      | 'status'
      | 'created_from'
      | 'created_to'
      | 'processed_from'
      | 'processed_to'
      | 'bank_code'
      | 'account_number'
      | 'amount_from'
      | 'amount_to'
      | 'overdue',
      string
    >
  >
>;

const banks = createBankDirectory(bankEntries);

/** The last code is in no directory. */
export const BANK_CODES = ['014', 'bca', 'CENAIDJA', 'CENAIDJAXXX', 'BRI', '002', '009', 'KOPERASI-1'];
export const ACCOUNTS = ['1234567890', '0012345678', '5500001', '9990000000000001'];
export const AMOUNTS = ['1.00', '150000.00', '150000.01', '99999.99', '9007199254740993.01', '9007199254740993.02'];
/** In six hours, without the end of the second: a feed stores no time that is more than 12 hours ahead. */
const LATER = new Date(Date.now() + 6 * 3_600_000).toISOString().slice(0, -'.123Z'.length);
/** Few, so that many transactions have the same. The latest ones are not overdue yet. */
export const TIMES = [
  '2026-11-01T00:00:00.000Z',
  '2026-11-01T00:00:00.001Z',
  '2026-11-02T12:00:00.000Z',
  '2026-11-03T23:59:59.999Z',
  `${LATER}.000Z`,
  `${LATER}.500Z`,
];

/** The same transactions for the same random numbers. */
export function modelTransactions(random: () => number, clientId: string, count: number): ModelTransaction[] {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const prefix = clientId.slice(0, 2).toUpperCase();
  return Array.from({ length: count }, (_, index) => {
    const status = pick(['PROCESS', 'SUCCESS', 'SUCCESS', 'FAILED'] as const);
    return {
      client_id: clientId,
      // Not in the order of time.
      transaction_id: `${prefix}${String((index * 7919) % 1_000_003).padStart(10, '0')}`,
      status,
      amount: pick(AMOUNTS),
      bank_code: pick(BANK_CODES),
      account_number: pick(ACCOUNTS),
      created_at: pick(TIMES),
      processed_at: status === 'PROCESS' ? null : pick(TIMES),
    };
  });
}

export async function feedTransactions(service: TestService, transactions: readonly ModelTransaction[]): Promise<void> {
  const lines = transactions.map((each) =>
    JSON.stringify(
      statusUpdate({
        ...each,
        reference_id: `ref ${each.transaction_id}`,
        bank_name: 'A bank',
        failure_reason: each.status === 'FAILED' ? 'Closed' : null,
      }),
    ),
  );
  const { status, text } = await service.feed(`${lines.join('\n')}\n`);
  if (status !== 200) throw new Error(text);
}

/** Whether it is overdue. */
export const isLate = (transaction: ModelTransaction): boolean =>
  transaction.status === 'PROCESS' && transaction.created_at < LATER;

function bankOf(code: string): string {
  const bank = banks.find(code);
  return bank?.bic ?? code.toUpperCase();
}

const hundredths = (amount: string): bigint => BigInt(amount.replace('.', ''));

const CONDITIONS: Record<keyof Filter, (transaction: ModelTransaction, value: string) => boolean> = {
  status: ({ status }, value) => status === value,
  created_from: ({ created_at }, value) => created_at >= value,
  created_to: ({ created_at }, value) => created_at < value,
  processed_from: ({ processed_at }, value) => processed_at !== null && processed_at >= value,
  processed_to: ({ processed_at }, value) => processed_at !== null && processed_at < value,
  bank_code: ({ bank_code }, value) => bankOf(bank_code) === bankOf(value),
  account_number: ({ account_number }, value) => account_number === value,
  amount_from: ({ amount }, value) => hundredths(amount) >= hundredths(value),
  amount_to: ({ amount }, value) => hundredths(amount) <= hundredths(value),
  overdue: (transaction, value) => isLate(transaction) === (value === 'true'),
};

/** The transaction IDs that the list must have, in its order. */
export function expectedIds(transactions: readonly ModelTransaction[], filter: Filter): string[] {
  const isProcessed = filter.processed_from !== undefined || filter.processed_to !== undefined;
  const timeOf = ({ created_at, processed_at }: ModelTransaction): string =>
    isProcessed && filter.account_number === undefined ? (processed_at ?? '') : created_at;
  const entries = Object.entries(filter) as [keyof Filter, string][];
  return transactions
    .filter((transaction) => entries.every(([name, value]) => CONDITIONS[name](transaction, value)))
    .map((transaction) => ({ time: timeOf(transaction), id: transaction.transaction_id }))
    .toSorted((one, other) => compare(other.time, one.time) || compare(other.id, one.id))
    .map(({ id }) => id);
}

const compare = (one: string, other: string): number => Number(one > other) - Number(one < other);

/** The contradictions that docs/contract.md 4.5 refuses. */
export function isContradictory(filter: Filter): boolean {
  const isProcessed = filter.processed_from !== undefined || filter.processed_to !== undefined;
  const isReversed = (from: string | undefined, to: string | undefined): boolean =>
    from !== undefined && to !== undefined && from >= to;
  return (
    isReversed(filter.created_from, filter.created_to) ||
    isReversed(filter.processed_from, filter.processed_to) ||
    (filter.amount_from !== undefined &&
      filter.amount_to !== undefined &&
      hundredths(filter.amount_from) > hundredths(filter.amount_to)) ||
    (isProcessed && (filter.status === 'PROCESS' || filter.overdue === 'true')) ||
    (filter.overdue === 'true' && filter.status !== undefined && filter.status !== 'PROCESS')
  );
}
