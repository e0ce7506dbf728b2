import type { Status } from '../domain/transaction.ts';
import type { Database } from './database.ts';
import { guarded } from './distributed/one-client.ts';
import { parsePrinted, printed } from './rendered-transactions.ts';

/** A transaction as SNAP's transaction status inquiry (service 36) shows it. */
export interface SnapTransaction {
  readonly transactionId: string;
  readonly referenceId: string;
  readonly status: Status;
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  readonly bankCode: string;
  readonly accountNumber: string;
  readonly createdAt: Date;
  readonly failureReason: string | null;
  readonly isReversed: boolean;
  /** The rail that can be asked for the status; null where there is none. */
  readonly rail: string | null;
  readonly sourceAccountNumber: string | null;
  readonly serviceCode: string | null;
  readonly externalId: string | null;
  readonly bankReference: string | null;
  /** Whether it was created on the day of `createdOn`. True where the inquiry has no day. */
  readonly isOnDay: boolean;
  /** As check-status shows it, in JSON. */
  readonly rendered: string;
}

/** What an inquiry names the transaction by: one of them at least. */
export interface SnapTransactionKeys {
  readonly referenceId: string | null;
  readonly transactionId: string | null;
  readonly externalId: string | null;
  /** A time on the day in Jakarta that is meant, of several days with the same `externalId`. ISO 8601. */
  readonly createdOn: string | null;
}

const SELECTED = `transaction_id as "transactionId", reference_id as "referenceId", status, amount::text, currency,
  bank_code as "bankCode", account_number as "accountNumber", created_at as "createdAt",
  failure_reason as "failureReason", reversed_at is not null as "isReversed", rail,
  source_account_number as "sourceAccountNumber", service_code as "serviceCode", external_id as "externalId",
  bank_reference as "bankReference", ${printed('t')} as rendered,
  $5::timestamptz is null
    or (created_at at time zone 'Asia/Jakarta')::date = ($5::timestamptz at time zone 'Asia/Jakarta')::date
    as "isOnDay"`;

// One index probe for each key. An X-EXTERNAL-ID is unique in a day only: two show that it names no single one.
const SQL = `
select ${SELECTED} from tiba.transactions t where client_id = $1 collate "POSIX" and reference_id = $2
union all
select ${SELECTED} from tiba.transactions t where client_id = $1 and transaction_id = $3
union all
(select ${SELECTED} from tiba.transactions t
  where client_id = $1 and external_id = $4 order by "isOnDay" desc, created_at desc limit 2)`;

type SnapTransactionRow = SnapTransaction & Record<string, unknown>;

/**
 * The different transactions of the client that have one of these keys. Those of the reference ID and the transaction
 * ID come first, then at most two with the external ID: on the day, then on other days.
 */
export async function findSnapTransactions(
  database: Database,
  clientId: string,
  { referenceId, transactionId, externalId, createdOn }: SnapTransactionKeys,
): Promise<SnapTransaction[]> {
  const values = [clientId, referenceId, transactionId, externalId, createdOn];
  const rows = await guarded(database, clientId, () =>
    database.query<SnapTransactionRow>(SQL, values, 'snap-transactions'),
  );
  return [
    ...new Map(rows.map((row) => [row.transactionId, { ...row, rendered: parsePrinted(row.rendered).json }])).values(),
  ];
}
