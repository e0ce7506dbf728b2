import type { Transaction } from '../../../client/src/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { block, duration, localMinute, localTime, money, styleOf } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import { plain } from '../output/style.ts';
import type { Column } from '../output/table.ts';
import type { Found } from './check-statuses.ts';

export function exitCodeOf({ transaction }: Found): ExitCode {
  if (transaction === null) return EXIT.error;
  return { SUCCESS: EXIT.ok, FAILED: EXIT.no, PROCESS: EXIT.open }[transaction.status] ?? EXIT.open;
}

const statusOf = ({ transaction, error }: Found): string => transaction?.status ?? error?.error_code ?? '';

export const transactionColumns = ({ number }: Output): Column<Transaction>[] => [
  { title: 'STATUS', cell: ({ status }) => status, style: ({ status }) => styleOf(status) },
  { title: 'REFERENCE', cell: (each) => each.reference_id },
  { title: 'TRANSACTION', cell: (each) => each.transaction_id, dropOrder: 1 },
  { title: 'AMOUNT', right: true, cell: (each) => money(each.amount) },
  { title: 'BANK', cell: (each) => each.bank_code, dropOrder: 3 },
  { title: 'ACCOUNT', cell: (each) => number(each.account_number), dropOrder: 2 },
  { title: 'CREATED', cell: (each) => localMinute(each.created_at), dropOrder: 4 },
  { title: 'REASON', cell: (each) => codeOf(each.failure_reason), shortens: true },
];

export const statusColumns = (output: Output): Column<Found>[] => [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'STATUS', cell: statusOf, style: (found) => styleOf(statusOf(found)) ?? 'red' },
  { title: 'AMOUNT', right: true, cell: ({ transaction }) => money(transaction?.amount ?? '') },
  { title: 'BANK', cell: ({ transaction }) => transaction?.bank_name ?? '', shortens: true },
  { title: 'ACCOUNT', cell: ({ transaction }) => output.number(transaction?.account_number ?? '') },
  { title: 'REASON', cell: ({ transaction }) => codeOf(transaction?.failure_reason ?? null) },
];

const codeOf = (reason: string | null): string => reason?.split(':', 1)[0] ?? '';

/** One transaction with what to do about it. */
export function describeOne({ id, transaction, error }: Found, output: Output): string {
  const { paint, number, name } = output;
  if (transaction === null) {
    const advice = 'Check the ID. A transaction of another client is not found either: see `tiba profiles`.';
    return block([
      ['id', plain(id)],
      ['error', paint('red', error?.error_code ?? '')],
      ['reason', plain(error?.message ?? '')],
      ['next', advice],
    ]);
  }
  const { status } = transaction;
  const style = styleOf(status);
  const [reason, advice] = splitReason(transaction.failure_reason);
  return block([
    ['reference', plain(transaction.reference_id)],
    ['transaction', transaction.transaction_id],
    ['status', `${style === null ? status : paint(style, status)}${timesOf(transaction)}`],
    ['reason', reason],
    ['next', status === 'PROCESS' ? 'It has not failed: do not pay again. --wait waits for its end.' : advice],
    ['amount', `${money(transaction.amount)} (fee ${money(transaction.fee)})`],
    [
      'account',
      `${plain(transaction.bank_name)} ${number(transaction.account_number)} ${name(transaction.account_name)}`,
    ],
    ['description', plain(transaction.description)],
    ['created', localTime(transaction.created_at)],
    ['processed', localTime(transaction.processed_at)],
  ]);
}

function timesOf({ status, created_at: created, processed_at: processed }: Transaction): string {
  if (status === 'PROCESS') return ` for ${duration(Date.now() - Date.parse(created))}`;
  return processed === null ? '' : ` after ${duration(Date.parse(processed) - Date.parse(created))}`;
}

/** A failure reason is a code, what happened, and what to do (docs/failure-reasons.md). */
function splitReason(reason: string | null): [reason: string | null, advice: string | null] {
  if (reason === null) return [null, null];
  const [, what = reason, advice = null] = /^(.*?\.) (.+)$/.exec(plain(reason)) ?? [];
  return [plain(what), advice];
}

/** `2 SUCCESS, 1 FAILED`. */
export function summaryOf(results: readonly Found[]): string {
  const counts = new Map<string, number>();
  for (const found of results) counts.set(statusOf(found), (counts.get(statusOf(found)) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${plain(status)}`).join(', ');
}
