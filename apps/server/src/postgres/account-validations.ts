import type { ValidationState } from '../domain/account-validation.ts';
import type { Database, Query } from './database.ts';

export interface ValidationKey {
  readonly clientId: string;
  readonly validationId: string;
}

/** A validation. Times are ISO 8601 UTC. */
export interface AccountValidation extends ValidationKey {
  readonly state: ValidationState;
  readonly rowCount: number;
  /** How many rows have a result. */
  readonly resultCount: number;
  readonly counts: ResultCounts;
  /** Until when the validation is paused, because its client reached a limit; null when it is not paused. */
  readonly heldUntil: string | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

export interface ResultCounts {
  readonly active: number;
  readonly inactive: number;
  readonly notFound: number;
  readonly blocked: number;
  readonly invalid: number;
  readonly noVerdict: number;
}

export interface ValidationRow extends Record<string, unknown> {
  client_id: string;
  validation_id: string;
  state: ValidationState;
  row_count: number;
  last_sequence: number;
  active_count: number;
  inactive_count: number;
  not_found_count: number;
  blocked_count: number;
  invalid_count: number;
  no_verdict_count: number;
  held_until: Date | null;
  created_at: Date;
  ended_at: Date | null;
}

export const VALIDATION_COLUMNS = `client_id, validation_id, state, row_count, last_sequence, active_count,
  inactive_count, not_found_count, blocked_count, invalid_count, no_verdict_count,
  case when held_until > now() and state = 'RUNNING' then held_until end as held_until, created_at, ended_at`;

export interface NewValidation extends ValidationKey {
  readonly rowCount: number;
  /** null when the client sent none. */
  readonly idempotencyKey: string | null;
  readonly bodySha256: Buffer;
  /** For how long no row of the validation is claimed, in ms; null when it may start at once. */
  readonly pauseMs: number | null;
}

/** False when the client has used the key before. */
export async function insertValidation(query: Query, validation: NewValidation): Promise<boolean> {
  const { rowCount } = await query(
    `insert into tiba.account_validations
       (client_id, validation_id, row_count, idempotency_key, body_sha256, held_until)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')
     on conflict (client_id, idempotency_key) do nothing`,
    [
      validation.clientId,
      validation.validationId,
      validation.rowCount,
      validation.idempotencyKey,
      validation.bodySha256,
      validation.pauseMs,
    ],
  );
  return rowCount === 1;
}

/** The validation that the client created with this key, and the hash of the body that it sent. */
export async function findByIdempotencyKey(
  database: Database,
  clientId: string,
  idempotencyKey: string,
): Promise<{ readonly validation: AccountValidation; readonly bodySha256: Buffer } | null> {
  const [row] = await database.query<ValidationRow & { body_sha256: Buffer }>(
    `select ${VALIDATION_COLUMNS}, body_sha256 from tiba.account_validations
      where client_id = $1 and idempotency_key = $2`,
    [clientId, idempotencyKey],
  );
  return row === undefined ? null : { validation: toValidation(row), bodySha256: row.body_sha256 };
}

/** What is stored for one client. */
export interface StoredCounts {
  /** Running validations. */
  readonly running: number;
  /** Rows of all its validations, including those that have ended. */
  readonly rows: number;
}

const COUNT_STORED_SQL = `
  select count(*) filter (where state = 'RUNNING')::int as running, coalesce(sum(row_count), 0)::float8 as rows
    from tiba.account_validations where client_id = $1`;
const NOTHING_STORED: StoredCounts = { running: 0, rows: 0 };

export async function countStored(database: Database, clientId: string): Promise<StoredCounts> {
  const [row] = await database.query<{ running: number; rows: number }>(COUNT_STORED_SQL, [clientId]);
  return row ?? NOTHING_STORED;
}

/**
 * Like `countStored`, including what this transaction has inserted. It locks the client until the transaction ends, so
 * that of several transactions that create validations at once, each counts those of the ones before it. The lock is
 * not "for update", which would block the client's feed.
 */
export async function lockAndCountStored(query: Query, clientId: string): Promise<StoredCounts> {
  await query('select from tiba.clients where client_id = $1 for no key update', [clientId]);
  const { rows } = await query<{ running: number; rows: number }>(COUNT_STORED_SQL, [clientId]);
  return rows[0] ?? NOTHING_STORED;
}

export async function findValidation(
  database: Database,
  { clientId, validationId }: ValidationKey,
): Promise<AccountValidation | null> {
  const rows = await database.query<ValidationRow>(
    `select ${VALIDATION_COLUMNS} from tiba.account_validations where client_id = $1 and validation_id = $2`,
    [clientId, validationId],
  );
  return rows.map(toValidation)[0] ?? null;
}

/** The client's validations, the newest first. */
export async function listValidations(
  database: Database,
  clientId: string,
  limit: number,
): Promise<AccountValidation[]> {
  const rows = await database.query<ValidationRow>(
    `select ${VALIDATION_COLUMNS} from tiba.account_validations
      where client_id = $1 order by created_at desc, validation_id limit $2`,
    [clientId, limit],
  );
  return rows.map(toValidation);
}

/** Running validations of all clients, for the operator: the oldest first. */
export async function listRunningValidations(database: Database, limit: number): Promise<AccountValidation[]> {
  const rows = await database.query<ValidationRow>(
    `select ${VALIDATION_COLUMNS} from tiba.account_validations
      where state = 'RUNNING' order by created_at, client_id, validation_id limit $1`,
    [limit],
  );
  return rows.map(toValidation);
}

/** Locks these validations, so that sequence numbers can be assigned to their results. */
export async function lockValidations(query: Query, keys: readonly ValidationKey[]): Promise<void> {
  await query(
    `select from tiba.account_validations v
       join unnest($1::text[], $2::text[]) as k (client_id, validation_id)
         on v.client_id = k.client_id collate "C" and v.validation_id = k.validation_id collate "C"
      -- Locks are taken in key order, so that transactions that record results of the same validations cannot deadlock.
      order by v.client_id, v.validation_id
        for no key update of v`,
    [keys.map(({ clientId }) => clientId), keys.map(({ validationId }) => validationId)],
  );
}

/** Cancels a running validation: no more of its rows are claimed. Null when no such validation is running. */
export async function cancelValidation(
  query: Query,
  { clientId, validationId }: ValidationKey,
): Promise<AccountValidation | null> {
  const { rows } = await query<ValidationRow>(
    `update tiba.account_validations set state = 'CANCELLED', ended_at = now()
      where client_id = $1 and validation_id = $2 and state = 'RUNNING'
     returning ${VALIDATION_COLUMNS}`,
    [clientId, validationId],
  );
  return rows.map(toValidation)[0] ?? null;
}

/** Pauses a running validation. A longer pause that is in force stays. */
export async function pauseValidation(
  database: Database,
  { clientId, validationId }: ValidationKey,
  pauseMs: number,
): Promise<void> {
  await database.query(
    `update tiba.account_validations set held_until = greatest(held_until, now() + $3 * interval '1 millisecond')
      where client_id = $1 and validation_id = $2 and state = 'RUNNING'`,
    [clientId, validationId, pauseMs],
  );
}

/** Ends the pauses of a client's validations, after the operator changed its limits. Each pauses again if it must. */
export async function resumePausedValidations(database: Database, clientId: string): Promise<void> {
  await database.query(
    `update tiba.account_validations set held_until = null
      where client_id = $1 and state = 'RUNNING' and held_until is not null`,
    [clientId],
  );
}

/**
 * Deletes a validation that ended before then: at most `rowsMax` of its rows at a time, then the validation. Returns
 * whether there may be more to delete. Crosses clients.
 */
export async function deleteEndedValidations(database: Database, endedBefore: Date, rowsMax: number): Promise<number> {
  const [row] = await database.query<{ rows: number; validations: number }>(
    `with ended as materialized (
       select client_id, validation_id from tiba.account_validations
        where ended_at < $1 order by ended_at limit 1 for update skip locked
     ), found as materialized (
       select r.client_id, r.validation_id, r.row_number
         from ended cross join lateral (
           select * from tiba.account_validation_rows r
            where r.client_id = ended.client_id and r.validation_id = ended.validation_id limit $2) r
     ), rows as (
       delete from tiba.account_validation_rows r using found
        where r.client_id = found.client_id and r.validation_id = found.validation_id
          and r.row_number = found.row_number
       returning 1
     )
     select (select count(*) from rows)::int as rows, (select count(*) from ended)::int as validations`,
    [endedBefore.toISOString(), rowsMax],
  );
  const { rows = 0, validations = 0 } = row ?? {};
  if (validations > 0 && rows < rowsMax) await deleteValidationsWithoutRows(database, endedBefore);
  // A validation without rows counts too: there may be more of them.
  return rows + validations;
}

async function deleteValidationsWithoutRows(database: Database, endedBefore: Date): Promise<void> {
  await database.query(
    `delete from tiba.account_validations v
      where ended_at < $1
        and not exists (select from tiba.account_validation_rows r
                         where r.client_id = v.client_id and r.validation_id = v.validation_id)`,
    [endedBefore.toISOString()],
  );
}

export const toValidation = (row: ValidationRow): AccountValidation => ({
  clientId: row.client_id,
  validationId: row.validation_id,
  state: row.state,
  rowCount: row.row_count,
  resultCount: row.last_sequence,
  counts: {
    active: row.active_count,
    inactive: row.inactive_count,
    notFound: row.not_found_count,
    blocked: row.blocked_count,
    invalid: row.invalid_count,
    noVerdict: row.no_verdict_count,
  },
  heldUntil: row.held_until?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
  endedAt: row.ended_at?.toISOString() ?? null,
});
