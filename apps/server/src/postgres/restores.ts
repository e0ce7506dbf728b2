import type { Database, Query } from './database.ts';
import { CLIENTS_CHANNEL, RESTORES_CHANNEL } from './reload-channels.ts';

/** A restore of a backup (docs/decisions/0039-epochs.md). */
export interface Restore {
  /** Seconds since 1970, greater than the one before. */
  readonly epoch: number;
  readonly restoredAt: Date;
  /** Up to when the backup holds what happened, to a few seconds; null when it is not known. */
  readonly restoredTo: Date | null;
}

/** A client gets fewer events a second than this on the average, so its numbers stay below those of a later epoch. */
const SEQUENCES_PER_SECOND = 100_000;
/** A subject has less than one event in this time on the average. Versions are 32-bit numbers. */
const SECONDS_PER_VERSION = 6;

/** Two epochs differ by enough for their versions to differ. */
const EPOCH_MIN_SECONDS = 60;

/** Versions of an epoch are greater than this. */
export const versionFloor = (epoch: number): number => Math.floor(epoch / SECONDS_PER_VERSION);

/** SQL. */
const EPOCH = '(select coalesce(max(epoch), 0) from tiba.restores)';
export const SEQUENCE_FLOOR = `${EPOCH} * ${SEQUENCES_PER_SECOND}`;
export const VERSION_FLOOR = `(${EPOCH} / ${SECONDS_PER_VERSION})::integer`;

/** The latest restore; null when there was none. */
export async function findLatestRestore(database: Database): Promise<Restore | null> {
  const rows = await database.query<Omit<Restore, 'epoch'> & { epoch: string }>(
    `select epoch, restored_at as "restoredAt", restored_to as "restoredTo"
       from tiba.restores order by epoch desc limit 1`,
  );
  const [row] = rows;
  return row === undefined ? null : { ...row, epoch: Number(row.epoch) };
}

export interface CursorLimits {
  /** Below the cursor: events after this one are lost. */
  readonly last: number;
  /** Above the cursor: events up to this one were removed after their retention time. */
  readonly removedUpTo: number;
}

/**
 * `last` is the number of the last event that a reader with the cursor `after` can have read and that was not lost: it
 * is below `after` when the cursor is from a time that a restore has lost, or is greater than that of the newest event.
 */
export async function findCursorLimits(database: Database, clientId: string, after: number): Promise<CursorLimits> {
  const [row] = await database.query<{ last: string; removed_up_to: string }>(
    `select case when lost.epoch is null then coalesce(s.last_sequence, 0)
                 else coalesce(k.last_sequence, 0) end as last,
            coalesce(s.removed_up_to, 0) as removed_up_to
       from (select min(epoch) as epoch from tiba.restores where epoch * ${SEQUENCES_PER_SECOND} >= $2::bigint) lost
       left join tiba.restored_sequences k on k.client_id = $1 and k.epoch = lost.epoch
       left join tiba.event_sequences s on s.client_id = $1`,
    [clientId, after],
    'find-cursor-limits',
  );
  return { last: Number(row?.last ?? 0), removedUpTo: Number(row?.removed_up_to ?? 0) };
}

/**
 * Records that a backup was restored: later events and versions have numbers that no one has seen, all access tokens
 * and sessions are revoked, and no proposal is pending. Events that are being stored meanwhile come before it.
 */
export const recordRestore = (database: Database): Promise<Restore & { readonly clients: number }> =>
  database.transaction(
    async (query) => {
      await query(`set local statement_timeout = ${RECORD_RESTORE_TIMEOUT_MS}`);
      return record(query);
    },
    { timeoutMs: RECORD_RESTORE_TIMEOUT_MS },
  );

/** Its statements concern all clients. */
export const RECORD_RESTORE_TIMEOUT_MS = 60_000;

/** Sessions that were revoked in the lost time, and proposals that were decided in it, are open in the backup. */
async function endWhatPeopleDid(query: Query): Promise<void> {
  await query('update tiba.operator_sessions set revoked_at = now() where revoked_at is null');
  await query('delete from tiba.operator_login_links');
  await query(
    `update tiba.operator_proposals
        set state = 'outdated', decided_by = 'restore', decided_by_name = 'Restore of a backup', decided_at = now(),
            decision_reason = 'What was decided after the backup is lost'
      where state = 'pending'`,
  );
}

async function record(query: Query): Promise<Restore & { readonly clients: number }> {
  // A distributed PostgreSQL changes the copies of a table only where it has read the others one node after the other.
  if (query.distributed === true) await query("set local citus.multi_shard_modify_mode to 'sequential'");
  await query('lock table tiba.restores in share row exclusive mode');
  // Others lock a proposal, a client or a bank first, and then the numbers of events: in this order, as here, no two of
  // them wait for each other.
  await endWhatPeopleDid(query);
  await query('update tiba.clients set tokens_valid_from = now()');
  await query('lock table tiba.bank_availability in exclusive mode');
  await query('lock table tiba.event_sequences in share row exclusive mode');
  const { rows } = await query<{ epoch: string; restored_at: Date; restored_to: Date | null }>(
    // Processes wrote their heartbeats until the moment of the backup.
    `insert into tiba.restores (epoch, restored_to)
     select greatest(extract(epoch from clock_timestamp())::bigint, ${EPOCH} + ${EPOCH_MIN_SECONDS},
                     (select coalesce(max(last_sequence), 0) / ${SEQUENCES_PER_SECOND} + 1 from tiba.event_sequences)),
            coalesce((select max(heartbeat_at) from tiba.processes),
                     (select restored_to from tiba.restores order by epoch desc limit 1))
     returning epoch, restored_at, restored_to`,
  );
  const [restore] = rows;
  if (restore === undefined) throw new Error('a restore was not recorded');
  await query('delete from tiba.processes');
  const { rowCount } = await query(
    `insert into tiba.restored_sequences (client_id, epoch, last_sequence)
     select client_id, $1::bigint, coalesce(last_sequence, 0)
       from tiba.clients left join tiba.event_sequences using (client_id)`,
    [restore.epoch],
  );
  await query(
    `insert into tiba.event_sequences (client_id, last_sequence)
     select client_id, ${SEQUENCE_FLOOR} from tiba.clients order by client_id
         on conflict (client_id) do update set last_sequence = excluded.last_sequence`,
  );
  const versionFloor = Math.floor(Number(restore.epoch) / SECONDS_PER_VERSION);
  await query('update tiba.bank_availability set version = greatest(version, $1::integer)', [versionFloor]);
  // Triggers notify as well, except on a distributed PostgreSQL.
  await query("select pg_notify($1, ''), pg_notify($2, '')", [CLIENTS_CHANNEL, RESTORES_CHANNEL]);
  const { epoch, restored_at: restoredAt, restored_to: restoredTo } = restore;
  return { epoch: Number(epoch), restoredAt, restoredTo, clients: rowCount ?? 0 };
}
