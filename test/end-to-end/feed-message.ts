import { BANK, detailsOf, OVERDUE_STEP_MS } from './details.ts';
import { detailsSaid, type Known, type Said, totalSaid, WHEN_APPLIED } from './model.ts';

/** What belongs to one history and is the same for all its transactions. */
export interface Circumstances {
  readonly clientId: string;
  /** When its first transaction was created; the others later and later. */
  readonly begunMs: number;
}

const createdAtOf = (about: number, { begunMs }: Circumstances): string =>
  new Date(begunMs + about * OVERDUE_STEP_MS).toISOString();

export const railReferenceOf = (about: number, { clientId }: Circumstances): string => `${clientId}-${about}`;

/** The word as the disbursement core puts it. */
export function feedWord(said: Said, circumstances: Circumstances): Record<string, unknown> {
  const { referenceId, amount, accountName } = detailsSaid(said);
  const { transactionId, fee, description } = detailsOf(said.about);
  const total = totalSaid(said);
  return {
    client_id: circumstances.clientId,
    transaction_id: transactionId,
    status: said.status,
    ...(said.complete
      ? {
          reference_id: referenceId,
          amount,
          fee,
          bank_code: BANK.code,
          bank_name: BANK.name,
          account_number: BANK.accountNumber,
          account_name: accountName,
          description,
          created_at: createdAtOf(said.about, circumstances),
        }
      : {}),
    ...(total === null ? {} : { total_amount: total }),
    ...(said.processedAt === null ? {} : { processed_at: said.processedAt }),
    ...(said.failureReason === null ? {} : { failure_reason: said.failureReason }),
    ...(said.reversedAt === null ? {} : { reversed_at: said.reversedAt }),
    ...(said.rail === null ? {} : { rail: said.rail, rail_reference: railReferenceOf(said.about, circumstances) }),
  };
}

/** The transaction as it has to be told, byte for byte (docs/contract.md 2.2). `told` shows what only the service knows. */
export function expectedData(known: Known, circumstances: Circumstances, told: string): string {
  const { referenceId, amount, total, accountName } = known.details;
  const { transactionId, fee, description } = detailsOf(known.about);
  const whenApplied = /"processed_at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"/.exec(told)?.[1] ?? 'a time';
  const text = (value: string | null): string => JSON.stringify(value);
  return `{${[
    `"transaction_id":${text(transactionId)}`,
    `"reference_id":${text(referenceId)}`,
    `"status":${text(known.status)}`,
    `"amount":${amount}`,
    `"fee":${fee}`,
    `"total_amount":${total}`,
    `"bank_code":${text(BANK.code)}`,
    `"bank_name":${text(BANK.name)}`,
    `"account_number":${text(BANK.accountNumber)}`,
    `"account_name":${text(accountName)}`,
    `"description":${text(description)}`,
    `"created_at":${text(createdAtOf(known.about, circumstances))}`,
    `"processed_at":${text(known.processedAt === WHEN_APPLIED ? whenApplied : known.processedAt)}`,
    `"failure_reason":${text(known.failureReason)}`,
  ].join(',')}}`;
}
