import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Query } from './database.ts';
import { ofClient } from './distributed/one-client.ts';
import { renderedColumn } from './rendered-transactions.ts';
import { addedByColumn, KEYS, RARE_COLUMNS, type TransactionToStore } from './transaction-rows.ts';

/** What an update may change. */
const CHANGING_COLUMNS = [
  'client_id',
  'transaction_id',
  'status',
  'processed_at',
  'version',
  'rendered',
  'advanced_by',
  ...RARE_COLUMNS,
] as const;

// A distributed PostgreSQL converts no text to a time inside an update.
const UPDATE_SQL = `
with changed as materialized (
  select client_id collate "C" as client_id, transaction_id collate "C" as transaction_id, status,
         nullif(processed_at, '')::timestamptz as processed_at, nullif(failure_reason, '') as failure_reason,
         version::int as version, nullif(rail, '') as rail, nullif(rail_reference, '') as rail_reference,
         nullif(reversed_at, '')::timestamptz as reversed_at,
         nullif(source_account_number, '') as source_account_number, nullif(service_code, '') as service_code,
         nullif(external_id, '') as external_id, nullif(bank_reference, '') as bank_reference,
         nullif(overdue_since, '')::timestamptz as overdue_since, rendered,
         nullif(advanced_by, '')::bigint as advanced_by
    from ${tableFromParameters(CHANGING_COLUMNS)}
)
update tiba.transactions t
   set status = c.status, processed_at = c.processed_at, failure_reason = c.failure_reason, version = c.version,
       rail = c.rail, rail_reference = c.rail_reference, reversed_at = c.reversed_at,
       source_account_number = c.source_account_number, service_code = c.service_code,
       external_id = c.external_id, bank_reference = c.bank_reference,
       expected_by = case when c.status = 'PROCESS' then t.expected_by end, overdue_since = c.overdue_since,
       rendered = c.rendered, advanced_by = coalesce(c.advanced_by, t.advanced_by)
  from changed c
 where t.client_id = c.client_id and t.transaction_id = c.transaction_id and ${KEYS} ${ofClient('t')}
   -- The last of several guards: a final status never changes.
   and (t.status = 'PROCESS' or t.status = c.status)`;

/**
 * Writes the changed columns of transactions that `lockTransactions` has locked. PostgreSQL moves those that become
 * final into the table of final transactions.
 */
export async function updateTransactions(query: Query, toStore: readonly TransactionToStore[]): Promise<void> {
  if (toStore.length === 0) return;
  await query(UPDATE_SQL, toColumnParameters(CHANGING_COLUMNS, toStore.map(toChangingRow)), 'update-transactions');
}

type TextRow<Column extends string> = Record<Column, string | null>;

const toChangingRow = ({
  transaction,
  advancedBy,
}: TransactionToStore): TextRow<(typeof CHANGING_COLUMNS)[number]> => ({
  client_id: transaction.clientId,
  transaction_id: transaction.transactionId,
  status: transaction.status,
  processed_at: transaction.processedAt,
  failure_reason: transaction.failureReason,
  version: String(transaction.version),
  reversed_at: transaction.reversedAt,
  rendered: renderedColumn(transaction),
  advanced_by: advancedBy,
  overdue_since: transaction.overdueSince,
  ...addedByColumn(transaction),
});
