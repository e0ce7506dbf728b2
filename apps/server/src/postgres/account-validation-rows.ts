import type { AccountCheckFault } from '../domain/account-check-request.ts';
import type { ValidationKey } from './account-validations.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database, Query } from './database.ts';

/** A row as it is stored before anything came of it. Text fields are as the client sent them. */
export interface NewRow {
  readonly rowNumber: number;
  readonly reference: string | null;
  readonly bankCode: string | null;
  readonly accountNumber: string | null;
  readonly expectedAccountName: string | null;
  /** null when it cannot be asked about. */
  readonly bic: string | null;
  /** The later rows with the same account; null when an earlier one is asked about for this one. */
  readonly duplicateRows: readonly number[] | null;
  /** null when it can be asked about. */
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

/** What is wrong with rows is recorded apart, as results are. */
export async function insertRows(
  query: Query,
  { clientId, validationId }: ValidationKey,
  rows: readonly NewRow[],
): Promise<void> {
  const given = rows.map((row) => ({
    row_number: String(row.rowNumber),
    reference: row.reference,
    bank_code: row.bankCode,
    account_number: row.accountNumber,
    expected_account_name: row.expectedAccountName,
    bic: row.bic,
    duplicate_rows: `{${(row.duplicateRows ?? []).join(',')}}`,
    state: row.duplicateRows === null ? 'duplicate' : 'waiting',
  }));
  await query(INSERT_SQL, [...toColumnParameters(NEW_COLUMNS, given), clientId, validationId]);
}

const INSERT_SQL = `
insert into tiba.account_validation_rows
  (client_id, validation_id, row_number, reference, bank_code, account_number, expected_account_name, bic, duplicate_rows,
   state)
select $${NEW_COLUMNS.length + 1}, $${NEW_COLUMNS.length + 2}, row_number::int, nullif(reference, ''), nullif(bank_code, ''),
       nullif(account_number, ''), nullif(expected_account_name, ''), nullif(bic, ''),
       duplicate_rows::integer[], state
  from ${tableFromParameters(NEW_COLUMNS)}`;

/** One job at one bank. */
export interface ValidationQueue extends ValidationKey {
  readonly bic: string;
}

/** A row that is this process's to ask about, and nobody else's ever after. */
export interface ClaimedRow extends ValidationQueue {
  readonly rowNumber: number;
  /** Tells this claim from any other of the row: PostgreSQL's own text of the moment. */
  readonly claimedAt: string;
  readonly accountNumber: string;
}

/**
 * Takes up to so many rows of each queue, in their order. Nobody waits for, or takes, what somebody else is just
 * claiming. Whoever dies with one in hand may have asked the bank already, so it is not asked about again: it ends
 * without a verdict (`findAbandoned`).
 */
export async function claimRows(
  database: Database,
  wanted: readonly (ValidationQueue & { readonly limit: number })[],
): Promise<ClaimedRow[]> {
  const rows = await database.query<ClaimedColumns>(
    CLAIM_SQL,
    [
      wanted.map(({ clientId }) => clientId),
      wanted.map(({ validationId }) => validationId),
      wanted.map(({ bic }) => bic),
      wanted.map(({ limit }) => limit),
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
with wanted as materialized (
  select client_id collate "C" as client_id, validation_id collate "C" as validation_id, bic collate "C" as bic, places
    from unnest($1::text[], $2::text[], $3::text[], $4::int[]) as w (client_id, validation_id, bic, places)
), due as materialized (
  select r.client_id, r.validation_id, r.row_number
    from wanted w
    join tiba.account_validations v
      on v.client_id = w.client_id and v.validation_id = w.validation_id and v.state = 'RUNNING'
   cross join lateral (
     select * from tiba.account_validation_rows r
      where r.client_id = w.client_id and r.validation_id = w.validation_id and r.bic = w.bic
        and r.state = 'waiting'
      order by r.row_number limit w.places
        for update of r skip locked) r
)
update tiba.account_validation_rows r
   set state = 'in_flight', claimed_at = now()
  from due
 where r.client_id = due.client_id and r.validation_id = due.validation_id and r.row_number = due.row_number
returning r.client_id, r.validation_id, r.bic, r.row_number, r.claimed_at::text as claimed_at, r.account_number`;

export interface RowKey extends ValidationKey {
  readonly rowNumber: number;
}

export type Claim = RowKey & Pick<ClaimedRow, 'claimedAt'>;

/** Gives back rows that no bank was asked about. Done twice, it does not undo what somebody else has claimed meanwhile. */
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

/** Rows that somebody took before then and nothing came of: whoever had them was killed. Crosses clients. */
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
 * The queues in which rows wait, of jobs that go on now. It steps from bank to bank through the index, so it costs as
 * much as there are queues, however long they are. Crosses clients: it runs for all of them.
 */
export async function findQueues(database: Database): Promise<ValidationQueue[]> {
  const rows = await database.query<{ client_id: string; validation_id: string; bic: string }>(
    QUEUES_SQL,
    [],
    'find-validation-queues',
  );
  return rows.map((row) => ({ clientId: row.client_id, validationId: row.validation_id, bic: row.bic }));
}

/** The first waiting row after this place. */
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

/** How many accounts of a job are still to be asked about, by bank: the most first. */
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
