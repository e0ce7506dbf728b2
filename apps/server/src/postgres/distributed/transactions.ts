import { tableFromParameters, toColumnParameters } from '../bulk-parameters.ts';
import type { Query } from '../database.ts';
import { renderedColumn } from '../rendered-transactions.ts';
import {
  ADDED_COLUMNS,
  addedByColumn,
  COMMON_COLUMNS,
  PROCESS_COLUMNS,
  type TransactionToStore,
} from '../transaction-rows.ts';

const COLUMNS = [...COMMON_COLUMNS, ...PROCESS_COLUMNS, ...ADDED_COLUMNS] as const;

/**
 * Inserts new transactions into a distributed PostgreSQL, where an error of a key comes with the code of another error.
 * Returns false when one of them is stored already.
 */
export async function insertTransactionsOf(query: Query, toStore: readonly TransactionToStore[]): Promise<boolean> {
  const { rowCount } = await query(
    // It counts what it inserted only when it returns it.
    `insert into tiba.transactions_in_process (${COLUMNS.join(', ')})
     select client_id, transaction_id, reference_id, status, amount::numeric, fee::numeric, currency, bank_code,
            bank_name, account_number, account_name, coalesce(description, ''), created_at::timestamptz, version::int,
            rendered, nullif(inserted_by, '')::bigint, expected_by::timestamptz,
            ${ADDED_COLUMNS.map((column) => `nullif(${column}, '')`).join(', ')}
       from ${tableFromParameters(COLUMNS)}
      order by transaction_id, client_id
     on conflict do nothing returning transaction_id`,
    toColumnParameters(COLUMNS, toStore.map(toRow)),
  );
  return rowCount === toStore.length;
}

const toRow = ({ transaction, insertedBy }: TransactionToStore): Record<(typeof COLUMNS)[number], string | null> => ({
  client_id: transaction.clientId,
  transaction_id: transaction.transactionId,
  reference_id: transaction.referenceId,
  status: transaction.status,
  amount: transaction.amount,
  fee: transaction.fee,
  currency: transaction.currency,
  bank_code: transaction.bankCode,
  bank_name: transaction.bankName,
  account_number: transaction.accountNumber,
  account_name: transaction.accountName,
  description: transaction.description,
  created_at: transaction.createdAt,
  version: String(transaction.version),
  rendered: renderedColumn(transaction),
  inserted_by: insertedBy,
  expected_by: transaction.expectedBy,
  ...addedByColumn(transaction),
});
