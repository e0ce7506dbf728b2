import { BANK, detailsOf, OVERDUE_STEP_MS } from './details.ts';
import { detailsOfUpdate, type ModelTransaction, TIME_APPLIED, totalOfUpdate, type Update } from './model.ts';

/** What all transactions of one history have in common. */
export interface HistoryContext {
  readonly clientId: string;
  /** When its first transaction was created; each further one is created OVERDUE_STEP_MS later. */
  readonly startedMs: number;
}

const createdAtOf = (index: number, { startedMs }: HistoryContext): string =>
  new Date(startedMs + index * OVERDUE_STEP_MS).toISOString();

export const railReferenceOf = (index: number, { clientId }: HistoryContext): string => `${clientId}-${index}`;

/** The status update in the form in which a disbursement core feeds it. */
export function feedMessage(update: Update, circumstances: HistoryContext): Record<string, unknown> {
  const { referenceId, amount, accountName } = detailsOfUpdate(update);
  const { transactionId, fee, description } = detailsOf(update.index);
  const total = totalOfUpdate(update);
  return {
    client_id: circumstances.clientId,
    transaction_id: transactionId,
    status: update.status,
    ...(update.complete
      ? {
          reference_id: referenceId,
          amount,
          fee,
          bank_code: BANK.code,
          bank_name: BANK.name,
          account_number: BANK.accountNumber,
          account_name: accountName,
          description,
          created_at: createdAtOf(update.index, circumstances),
        }
      : {}),
    ...(total === null ? {} : { total_amount: total }),
    ...(update.processedAt === null ? {} : { processed_at: update.processedAt }),
    ...(update.failureReason === null ? {} : { failure_reason: update.failureReason }),
    ...(update.reversedAt === null ? {} : { reversed_at: update.reversedAt }),
    ...(update.rail === null
      ? {}
      : { rail: update.rail, rail_reference: railReferenceOf(update.index, circumstances) }),
  };
}

/**
 * The transaction's JSON as the service has to report it, byte for byte (docs/contract.md 2.2). `actual` provides the
 * time that only the service knows.
 */
export function expectedData(transaction: ModelTransaction, circumstances: HistoryContext, actual: string): string {
  const { referenceId, amount, total, accountName } = transaction.details;
  const { transactionId, fee, description } = detailsOf(transaction.index);
  const timeApplied = /"processed_at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"/.exec(actual)?.[1] ?? 'a time';
  const text = (value: string | null): string => JSON.stringify(value);
  return `{${[
    `"transaction_id":${text(transactionId)}`,
    `"reference_id":${text(referenceId)}`,
    `"status":${text(transaction.status)}`,
    `"amount":${amount}`,
    `"fee":${fee}`,
    `"total_amount":${total}`,
    `"bank_code":${text(BANK.code)}`,
    `"bank_name":${text(BANK.name)}`,
    `"account_number":${text(BANK.accountNumber)}`,
    `"account_name":${text(accountName)}`,
    `"description":${text(description)}`,
    `"created_at":${text(createdAtOf(transaction.index, circumstances))}`,
    `"processed_at":${text(transaction.processedAt === TIME_APPLIED ? timeApplied : transaction.processedAt)}`,
    `"failure_reason":${text(transaction.failureReason)}`,
  ].join(',')}}`;
}
