import type { Status, Transaction } from '../domain/transaction.ts';
import type { Database, Query } from './database.ts';
import { ofClient, queryOverClients } from './distributed/one-client.ts';

export interface TransactionKey {
  readonly clientId: string;
  readonly transactionId: string;
}

export interface TransactionRow extends Record<string, unknown> {
  client_id: string;
  transaction_id: string;
  reference_id: string;
  status: Status;
  amount: string;
  fee: string;
  currency: string;
  bank_code: string;
  bank_name: string;
  account_number: string;
  account_name: string;
  description: string;
  created_at: Date;
  processed_at: Date | null;
  failure_reason: string | null;
  version: number;
  rail: string | null;
  rail_reference: string | null;
  reversed_at: Date | null;
  source_account_number: string | null;
  service_code: string | null;
  external_id: string | null;
  bank_reference: string | null;
  expected_by: Date | null;
  overdue_since: Date | null;
}

/** Columns of a transaction `t`. */
// Amounts as text: PostgreSQL's decimals are exact, and JavaScript's numbers are not.
export const TRANSACTION_COLUMNS = `t.client_id, t.transaction_id, t.reference_id, t.status, t.amount::text,
            t.fee::text, t.currency, t.bank_code, t.bank_name, t.account_number, t.account_name, t.description,
            t.created_at, t.processed_at, t.failure_reason, t.version, t.rail, t.rail_reference, t.reversed_at,
            t.source_account_number, t.service_code, t.external_id, t.bank_reference, t.expected_by, t.overdue_since`;

/**
 * Transactions in PROCESS that were expected to be final by `now` and are not marked overdue yet, the earliest first.
 */
export async function findNewlyOverdue(query: Query, now: string, limit: number): Promise<TransactionKey[]> {
  const { rows } = await query<KeyRow>(NEWLY_OVERDUE_SQL, [now, limit]);
  return rows.map(toKey);
}

/** The same of a distributed database, without a database transaction and without an order while a node is away. */
export async function findNewlyOverdueOverClients(
  database: Database,
  now: string,
  limit: number,
): Promise<TransactionKey[]> {
  return (await queryOverClients<KeyRow>(database, NEWLY_OVERDUE_SQL, [now, limit])).slice(0, limit).map(toKey);
}

interface KeyRow extends Record<string, unknown> {
  client_id: string;
  transaction_id: string;
}

const toKey = (row: KeyRow): TransactionKey => ({ clientId: row.client_id, transactionId: row.transaction_id });

const NEWLY_OVERDUE_SQL = `
select t.client_id, t.transaction_id from tiba.transactions t
 where t.status = 'PROCESS' and t.overdue_since is null and t.expected_by <= $1 ${ofClient('t')}
 order by t.expected_by limit $2`;

/** Transactions in PROCESS that are overdue, the longest first. Reads across clients, for the operator. */
export async function listOverdue(database: Database, limit: number): Promise<Transaction[]> {
  const rows = await database.query<TransactionRow>(
    `select ${TRANSACTION_COLUMNS} from tiba.transactions t
      where t.status = 'PROCESS' and t.overdue_since is not null order by t.overdue_since limit $1`,
    [limit],
  );
  return rows.map(toTransaction);
}

/** Finds the transactions that have these reference IDs. */
export async function findTransactionsByReference(
  query: Query,
  references: readonly { readonly clientId: string; readonly referenceId: string }[],
): Promise<(TransactionKey & { readonly referenceId: string })[]> {
  const { rows } = await query<{ client_id: string; transaction_id: string; reference_id: string }>(
    // A look-up for each reference: a join may read all transactions instead.
    `select own.client_id, own.transaction_id, own.reference_id
       from unnest($1::text[], $2::text[]) as k (client_id, reference_id)
      cross join lateral (
        select t.client_id, t.transaction_id, t.reference_id from tiba.transactions t
         where t.client_id = k.client_id collate "POSIX" and t.reference_id = k.reference_id collate "C"
               ${ofClient('t')}
         limit 1) as own`,
    [references.map((each) => each.clientId), references.map((each) => each.referenceId)],
    'find-transactions-by-reference',
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    transactionId: row.transaction_id,
    referenceId: row.reference_id,
  }));
}

export const toTransaction = (row: TransactionRow): Transaction => ({
  clientId: row.client_id,
  transactionId: row.transaction_id,
  referenceId: row.reference_id,
  status: row.status,
  amount: row.amount,
  fee: row.fee,
  currency: row.currency,
  bankCode: row.bank_code,
  bankName: row.bank_name,
  accountNumber: row.account_number,
  accountName: row.account_name,
  description: row.description,
  createdAt: row.created_at.toISOString(),
  processedAt: row.processed_at?.toISOString() ?? null,
  failureReason: row.failure_reason,
  version: row.version,
  rail: row.rail,
  railReference: row.rail_reference,
  reversedAt: row.reversed_at?.toISOString() ?? null,
  sourceAccountNumber: row.source_account_number,
  serviceCode: row.service_code,
  externalId: row.external_id,
  bankReference: row.bank_reference,
  expectedBy: row.expected_by?.toISOString() ?? null,
  overdueSince: row.overdue_since?.toISOString() ?? null,
});
