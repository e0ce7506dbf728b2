import type { Database } from '../database.ts';

type Column = 'client_id' | 'checked_at' | 'bic' | 'account_hash' | 'outcome' | 'rail' | 'age_seconds' | 'request_id';

/**
 * `insertAccountChecks` on a distributed PostgreSQL. Citus sends rows that a statement lists to their node as they are.
 * Rows that a query returns cost it three times as much, while they are few. All should be of one client: the statement
 * fails when a node of one of them is away.
 */
export async function insertListedAccountChecks(
  database: Database,
  firstId: number,
  checks: readonly Readonly<Record<Column, string | null>>[],
): Promise<void> {
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const rows = checks.map(
    (check, index) =>
      `(${parameter(firstId + index)}::bigint, ${parameter(check.client_id)},
        ${parameter(check.checked_at)}::timestamptz, ${parameter(check.bic)},
        decode(${parameter(check.account_hash)}, 'hex'), ${parameter(check.outcome)},
        ${parameter(check.rail)}, ${parameter(check.age_seconds)}::integer, ${parameter(check.request_id)})`,
  );
  await database.query(
    `insert into tiba.account_checks (check_id, client_id, checked_at, bic, account_hash, outcome, rail, age_seconds,
                                      request_id)
     values ${rows.join(', ')} on conflict do nothing`,
    values,
  );
}
