import type { Database } from '../database.ts';
import { databaseOfClient } from './one-client.ts';

type Column = 'client_id' | 'checked_at' | 'bic' | 'account_hash' | 'outcome' | 'rail' | 'age_seconds' | 'request_id';

/**
 * `insertAccountChecks` on a distributed PostgreSQL. Citus sends rows that a statement lists to their node as they are.
 * Rows that a query returns cost it three times as much, while they are few. All are of one client: the statement fails
 * when its node is away.
 */
export async function insertListedAccountChecks(
  database: Database,
  firstId: number,
  checks: readonly (Readonly<Record<Column, string | null>> & { readonly client_id: string })[],
): Promise<void> {
  const [first] = checks;
  if (first === undefined) return;
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const rows = checks.map(
    (check, index) =>
      `(${parameter(firstId + index)}::bigint, ${parameter(check.client_id)},
        ${parameter(check.checked_at)}::timestamptz, ${parameter(check.bic)},
        decode(${parameter(check.account_hash)}, 'hex'), ${parameter(check.outcome)},
        ${parameter(check.rail)}, ${parameter(check.age_seconds)}::integer, ${parameter(check.request_id)})`,
  );
  await databaseOfClient(database, first.client_id).query(
    `insert into tiba.account_checks (check_id, client_id, checked_at, bic, account_hash, outcome, rail, age_seconds,
                                      request_id)
     values ${rows.join(', ')} on conflict do nothing`,
    values,
  );
}
