import { tableFromParameters, toColumnParameters } from '../bulk-parameters.ts';
import type { Query } from '../database.ts';

/**
 * Inserts new transactions into a distributed PostgreSQL, where an error of a key comes with the code of another error.
 * `values` has those of each transaction, in the order of `columns`. Returns false when one of them is stored already.
 */
export async function insertTransactionsOf(
  query: Query,
  columns: readonly string[],
  values: readonly (readonly (string | null)[])[],
): Promise<boolean> {
  const rows = values.map((own) => Object.fromEntries(columns.map((column, index) => [column, own[index] ?? null])));
  const { rowCount } = await query(
    // It counts what it inserted only when it returns it.
    `insert into tiba.transactions_in_process
            (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code, bank_name,
             account_number, account_name, description, created_at, version, rail, rail_reference,
             source_account_number, service_code, external_id, bank_reference, expected_by, rendered, inserted_by)
     select client_id, transaction_id, reference_id, status, amount::numeric, fee::numeric, currency, bank_code,
            bank_name, account_number, account_name, coalesce(description, ''), created_at::timestamptz, version::int,
            nullif(rail, ''), nullif(rail_reference, ''), nullif(source_account_number, ''), nullif(service_code, ''),
            nullif(external_id, ''), nullif(bank_reference, ''), expected_by::timestamptz, rendered,
            nullif(inserted_by, '')::bigint
       from ${tableFromParameters(columns)}
      order by transaction_id, client_id
     on conflict do nothing returning transaction_id`,
    toColumnParameters(columns, rows),
  );
  return rowCount === values.length;
}
