import type { RowResult } from '../domain/account-validation.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';
import type { RowKey } from './account-validation-rows.ts';
import {
  type AccountValidation,
  lockValidations,
  toValidation,
  VALIDATION_COLUMNS,
  type ValidationKey,
  type ValidationRow,
} from './account-validations.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database, Query } from './database.ts';

/** The result of a checked row, which its duplicate rows get too. */
export interface NewResult extends RowKey {
  readonly result: RowResult;
  /** With ACTIVE only. */
  readonly accountName: string | null;
  /** With an error only. */
  readonly message: BilingualText | null;
  /** ISO 8601 UTC. */
  readonly checkedAt: string;
}

const COLUMNS = [
  'client_id',
  'validation_id',
  'row_number',
  'result',
  'account_name',
  'message',
  'message_indonesian',
  'checked_at',
] as const;

/** Each of many results may be that of a row with 1,000 duplicates (account-validations/validate-rows.ts). */
const RESULTS_TIMEOUT_MS = 20_000;

/** A transaction for `recordResults`, with a longer deadline than other statements have. */
export function resultsTransaction(database: Database, work: (query: Query) => Promise<void>): Promise<void> {
  return database.transaction(
    async (query) => {
      await query(`set local statement_timeout = ${RESULTS_TIMEOUT_MS}`);
      await work(query);
    },
    { timeoutMs: RESULTS_TIMEOUT_MS },
  );
}

/**
 * Stores results. Each row and its duplicates get their result and a sequence number within their validation.
 * Validations whose rows now all have a result become COMPLETED; these validations are returned. A row that has a
 * result keeps it. Call it within a database transaction.
 */
export async function recordResults(query: Query, results: readonly NewResult[]): Promise<AccountValidation[]> {
  // A statement of its own, before the one that assigns sequence numbers: that one must see the numbers that other
  // transactions have assigned.
  await lockValidations(query, results);
  const newResults = results.map((each) => ({
    client_id: each.clientId,
    validation_id: each.validationId,
    row_number: String(each.rowNumber),
    result: each.result,
    account_name: each.accountName,
    message: each.message?.en ?? null,
    message_indonesian: each.message?.id ?? null,
    checked_at: each.checkedAt,
  }));
  const { rows } = await query<ValidationRow>(RECORD_SQL, toColumnParameters(COLUMNS, newResults));
  return rows.map(toValidation).filter(({ state }) => state === 'COMPLETED');
}

const countWhere = (condition: string): string => `count(*) filter (where result ${condition})::int`;

const RECORD_SQL = `
with given as materialized (
  select distinct on (1, 2, 3)
         client_id collate "C" as client_id, validation_id collate "C" as validation_id, row_number::int as row_number,
         result, nullif(account_name, '') as account_name, nullif(message, '') as message,
         nullif(message_indonesian, '') as message_indonesian,
         checked_at::timestamptz as checked_at, input_order
    from ${tableFromParameters(COLUMNS, 'input_order')}
), numbered as materialized (
  select g.client_id, g.validation_id, each.row_number, g.result, g.account_name, g.message,
         g.message_indonesian, g.checked_at,
         v.last_sequence + row_number() over (
           partition by g.client_id, g.validation_id order by g.input_order, each.row_number) as sequence
    from given g
    join tiba.account_validations v on v.client_id = g.client_id and v.validation_id = g.validation_id
   cross join lateral (
     select row_number || duplicate_rows as row_numbers from tiba.account_validation_rows r
      where r.client_id = g.client_id and r.validation_id = g.validation_id and r.row_number = g.row_number
        and r.state <> 'done'
     offset 0) r
   cross join lateral unnest(r.row_numbers) as each (row_number)
), written as (
  update tiba.account_validation_rows r
     set state = 'done', sequence = n.sequence, result = n.result, account_name = n.account_name, message = n.message,
         message_indonesian = n.message_indonesian, checked_at = n.checked_at
    from numbered n
   where r.client_id = n.client_id and r.validation_id = n.validation_id and r.row_number = n.row_number
), counts as materialized (
  select client_id as client, validation_id as validation, count(*)::int as results,
         ${countWhere("= 'ACTIVE'")} as active, ${countWhere("= 'INACTIVE'")} as inactive,
         ${countWhere("= 'NOT_FOUND'")} as not_found, ${countWhere("= 'BLOCKED'")} as blocked,
         ${countWhere("in ('INVALID_BANK_CODE', 'INVALID_FORMAT', 'UNSUPPORTED_BANK')")} as invalid,
         ${countWhere("= 'SERVICE_UNAVAILABLE'")} as no_verdict
    from numbered group by 1, 2
)
update tiba.account_validations v
   set last_sequence = v.last_sequence + c.results,
       active_count = v.active_count + c.active, inactive_count = v.inactive_count + c.inactive,
       not_found_count = v.not_found_count + c.not_found, blocked_count = v.blocked_count + c.blocked,
       invalid_count = v.invalid_count + c.invalid, no_verdict_count = v.no_verdict_count + c.no_verdict,
       state = case when v.state = 'RUNNING' and v.last_sequence + c.results = v.row_count
                    then 'COMPLETED' else v.state end,
       ended_at = case when v.last_sequence + c.results = v.row_count
                       then coalesce(v.ended_at, now()) else v.ended_at end
  from counts c
 where v.client_id = c.client and v.validation_id = c.validation
returning ${VALIDATION_COLUMNS}`;

/** One row with its result. */
export interface ValidationResult {
  readonly sequence: number;
  readonly rowNumber: number;
  readonly reference: string | null;
  readonly bankCode: string | null;
  readonly accountNumber: string | null;
  readonly expectedAccountName: string | null;
  readonly bic: string | null;
  readonly result: RowResult;
  readonly accountName: string | null;
  readonly message: BilingualText | null;
  /** ISO 8601 UTC. */
  readonly checkedAt: string;
}

/** The results with a higher sequence than `after`, in the order in which they were recorded. */
export async function listResults(
  database: Database,
  { clientId, validationId }: ValidationKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<ValidationResult[]> {
  const rows = await database.query<ResultRow>(
    `select sequence, row_number, reference, bank_code, account_number, expected_account_name, bic, result,
            account_name, message, message_indonesian, checked_at
       from tiba.account_validation_rows
      where client_id = $1 and validation_id = $2 and sequence > $3
      order by sequence limit $4`,
    [clientId, validationId, after, limit],
    'list-validation-results',
  );
  return rows.map((row) => ({
    sequence: row.sequence,
    rowNumber: row.row_number,
    reference: row.reference,
    bankCode: row.bank_code,
    accountNumber: row.account_number,
    expectedAccountName: row.expected_account_name,
    bic: row.bic,
    result: row.result,
    accountName: row.account_name,
    message: row.message === null ? null : { en: row.message, id: row.message_indonesian ?? row.message },
    checkedAt: row.checked_at.toISOString(),
  }));
}

interface ResultRow extends Record<string, unknown> {
  sequence: number;
  row_number: number;
  reference: string | null;
  bank_code: string | null;
  account_number: string | null;
  expected_account_name: string | null;
  bic: string | null;
  result: RowResult;
  account_name: string | null;
  message: string | null;
  message_indonesian: string | null;
  checked_at: Date;
}
