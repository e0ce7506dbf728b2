import type { AccountCheckFault } from '../domain/account-check-request.ts';
import type { ValidationKey } from './account-validations.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database, Query } from './database.ts';

/** A row as it is first stored, without a result. Text fields are as the client sent them. */
export interface NewRow {
  readonly rowNumber: number;
  readonly reference: string | null;
  readonly bankCode: string | null;
  readonly accountNumber: string | null;
  readonly expectedAccountName: string | null;
  /** null when the row cannot be checked. */
  readonly bic: string | null;
  /** The later rows with the same account; null when this row is itself a duplicate of an earlier one. */
  readonly duplicateRows: readonly number[] | null;
  /** null when the row can be checked. */
  readonly fault: AccountCheckFault | null;
}

const NEW_COLUMNS = [
  'row_number',
  'reference',
  'bank_code',
  'account_number',
  'expected_account_name',
  'bic',
  'duplicate_rows',
  'state',
] as const;

/** Inserts rows. Their faults are not stored here: record them as results. */
export async function insertRows(
  query: Query,
  { clientId, validationId }: ValidationKey,
  rows: readonly NewRow[],
): Promise<void> {
  const newRows = rows.map((row) => ({
    row_number: String(row.rowNumber),
    reference: row.reference,
    bank_code: row.bankCode,
    account_number: row.accountNumber,
    expected_account_name: row.expectedAccountName,
    bic: row.bic,
    duplicate_rows: `{${(row.duplicateRows ?? []).join(',')}}`,
    state: row.duplicateRows === null ? 'duplicate' : 'waiting',
  }));
  await query(INSERT_SQL, [...toColumnParameters(NEW_COLUMNS, newRows), clientId, validationId]);
}

const INSERT_SQL = `
insert into tiba.account_validation_rows
  (client_id, validation_id, row_number, reference, bank_code, account_number, expected_account_name, bic,
   duplicate_rows, state)
select $${NEW_COLUMNS.length + 1}, $${NEW_COLUMNS.length + 2}, row_number::int, nullif(reference, ''),
       nullif(bank_code, ''), nullif(account_number, ''), nullif(expected_account_name, ''), nullif(bic, ''),
       duplicate_rows::integer[], state
  from ${tableFromParameters(NEW_COLUMNS)}`;

/** The waiting rows of one validation at one bank. */
export interface ValidationQueue extends ValidationKey {
  readonly bic: string;
}

/** A row that this process has claimed. No other process claims it, unless it is released. */
export interface ClaimedRow extends ValidationQueue {
  readonly rowNumber: number;
  /** Distinguishes this claim from any other of the row: the time as PostgreSQL prints it. */
  readonly claimedAt: string;
  readonly accountNumber: string;
}

/**
 * Claims up to `limit` rows of each queue, in the order of their numbers. `skip locked`: processes that claim at the
 * same time neither wait for each other nor claim the same row. A process that is killed may have asked the bank about
 * its rows already, so they are not claimed again: they end without a verdict (`findAbandonedRows`).
 */
export async function claimRows(
  database: Database,
  shares: readonly (ValidationQueue & { readonly limit: number })[],
): Promise<ClaimedRow[]> {
  const rows = await database.query<ClaimedColumns>(
    CLAIM_SQL,
    [
      shares.map(({ clientId }) => clientId),
      shares.map(({ validationId }) => validationId),
      shares.map(({ bic }) => bic),
      shares.map(({ limit }) => limit),
    ],
    'claim-validation-rows',
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    validationId: row.validation_id,
    bic: row.bic,
    rowNumber: row.row_number,
    claimedAt: row.claimed_at,
    accountNumber: row.account_number,
  }));
}

interface ClaimedColumns extends Record<string, unknown> {
  client_id: string;
  validation_id: string;
  bic: string;
  row_number: number;
  claimed_at: string;
  account_number: string;
}

const CLAIM_SQL = `
with shares as materialized (
  select client_id collate "C" as client_id, validation_id collate "C" as validation_id, bic collate "C" as bic,
         row_limit
    from unnest($1::text[], $2::text[], $3::text[], $4::int[]) as s (client_id, validation_id, bic, row_limit)
), claimable as materialized (
  select r.client_id, r.validation_id, r.row_number
    from shares s
    join tiba.account_validations v
      on v.client_id = s.client_id and v.validation_id = s.validation_id and v.state = 'RUNNING'
   cross join lateral (
     select * from tiba.account_validation_rows r
      where r.client_id = s.client_id and r.validation_id = s.validation_id and r.bic = s.bic
        and r.state = 'waiting'
      order by r.row_number limit s.row_limit
        for update of r skip locked) r
), claimed as (
  update tiba.account_validation_rows r
     set state = 'in_flight', claimed_at = now()
    from claimable c
   where r.client_id = c.client_id and r.validation_id = c.validation_id and r.row_number = c.row_number
  returning r.client_id, r.validation_id, r.bic, r.row_number, r.claimed_at, r.account_number
)
select client_id, validation_id, bic, row_number, claimed_at::text as claimed_at, account_number from claimed`;

export interface RowKey extends ValidationKey {
  readonly rowNumber: number;
}

export type Claim = RowKey & Pick<ClaimedRow, 'claimedAt'>;

/** Returns rows to waiting when no inquiry was sent. Repeated, it does not release what was claimed again meanwhile. */
export async function releaseRows(database: Database, claims: readonly Claim[]): Promise<void> {
  await database.query(
    `update tiba.account_validation_rows r set state = 'waiting', claimed_at = null
       from unnest($1::text[], $2::text[], $3::int[], $4::timestamptz[])
              as k (client_id, validation_id, row_number, claimed_at)
      where r.client_id = k.client_id collate "C" and r.validation_id = k.validation_id collate "C"
        and r.row_number = k.row_number and r.state = 'in_flight' and r.claimed_at = k.claimed_at`,
    [
      claims.map(({ clientId }) => clientId),
      claims.map(({ validationId }) => validationId),
      claims.map(({ rowNumber }) => rowNumber),
      claims.map(({ claimedAt }) => claimedAt),
    ],
    'release-validation-rows',
  );
}

/** How many accounts of this validation banks are being asked about: a cancelled one still gets their results. */
export async function countRowsInFlight(
  database: Database,
  { clientId, validationId }: ValidationKey,
): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `select count(*)::int as count from tiba.account_validation_rows
      where client_id = $1 and validation_id = $2 and state = 'in_flight'`,
    [clientId, validationId],
  );
  return row?.count ?? 0;
}

/** Rows in flight that were claimed longer ago than `olderThanMs`: a killed process left them. Crosses clients. */
export async function findAbandonedRows(database: Database, olderThanMs: number, limit: number): Promise<RowKey[]> {
  const rows = await database.query<{ client_id: string; validation_id: string; row_number: number }>(
    `select client_id, validation_id, row_number from tiba.account_validation_rows
      where state = 'in_flight' and claimed_at < now() - $1 * interval '1 millisecond'
      order by claimed_at limit $2`,
    [olderThanMs, limit],
    'find-abandoned-validation-rows',
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    validationId: row.validation_id,
    rowNumber: row.row_number,
  }));
}

/**
 * The queues with waiting rows, of running validations that are not paused and whose clients may check accounts. The
 * query steps from bank to bank through the index, so its cost depends on the number of queues and not on their length.
 * Crosses clients.
 */
export async function findQueues(database: Database): Promise<ValidationQueue[]> {
  const rows = await database.query<{ client_id: string; validation_id: string; bic: string }>(
    QUEUES_SQL,
    [],
    'find-validation-queues',
  );
  return rows.map((row) => ({ clientId: row.client_id, validationId: row.validation_id, bic: row.bic }));
}

/** The bank of the next waiting row, in the order of BICs. */
const nextQueue = (after: string): string =>
  `select r.bic from tiba.account_validation_rows r
    where r.client_id = v.client_id and r.validation_id = v.validation_id and r.state = 'waiting' and r.bic > ${after}
    order by r.bic limit 1`;

const QUEUES_SQL = `
with recursive queues as (
  select v.client_id, v.validation_id, first.bic
    from tiba.account_validations v cross join lateral (${nextQueue("''")}) first
   where v.state = 'RUNNING' and (v.held_until is null or v.held_until <= now())
     and exists (select from tiba.clients c where c.client_id = v.client_id and c.disabled_at is null
                    and 'account:check' = any (c.scopes))
  union all
  select v.client_id, v.validation_id, next.bic
    from queues v cross join lateral (${nextQueue('v.bic')}) next
)
select * from queues`;

/** How many accounts of a validation wait to be checked, by bank: the largest number first. */
export async function countWaitingAccounts(
  database: Database,
  { clientId, validationId }: ValidationKey,
): Promise<{ readonly bic: string; readonly accounts: number }[]> {
  return database.query<{ bic: string; accounts: number }>(
    `select bic, count(*)::int as accounts from tiba.account_validation_rows
      where client_id = $1 and validation_id = $2 and state = 'waiting'
      group by bic order by accounts desc, bic`,
    [clientId, validationId],
  );
}
