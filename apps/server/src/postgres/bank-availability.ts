import type { Database, Query } from './database.ts';
import { VERSION_FLOOR } from './restores.ts';

/**
 * Whether a bank answers, and how long ago that was observed. It is an age and not a time, because several processes
 * report the same bank, and PostgreSQL's clock is the only one that they share.
 */
export interface BankAvailability {
  /** Eight characters. */
  readonly bic: string;
  readonly status: 'UP' | 'DOWN';
  readonly ageMs: number;
}

export interface PublishedAvailability extends BankAvailability {
  /** Whether all clients have been notified. */
  readonly isPublished: boolean;
}

/** A bank that is missing in the result was never DOWN: it is UP. */
export const listBankAvailability = (database: Database): Promise<PublishedAvailability[]> =>
  database.query<PublishedAvailability & Record<string, unknown>>(
    `select bic, status, (extract(epoch from now() - since) * 1000)::float8 as "ageMs",
            notified_up_to_client_id is null as "isPublished"
       from tiba.bank_availability`,
    [],
    'list-bank-availability',
  );

/**
 * Stores a changed status, about which clients are then notified. Returns false if nothing was stored: the status is
 * not new, it was seen earlier than the stored one, or clients are still being notified of the previous change. Of
 * several processes that observe a change, only the first gets true.
 */
export async function changeBankAvailability(
  database: Database,
  { bic, status, ageMs }: BankAvailability,
): Promise<boolean> {
  const changed = await database.query(
    `with changed as (
       insert into tiba.bank_availability as stored (bic, status, since, version)
       select $1, $2, now() - $3 * interval '1 millisecond', ${VERSION_FLOOR} + 1
       on conflict (bic) do update
          set status = excluded.status, version = stored.version + 1, since = excluded.since,
              notified_up_to_client_id = excluded.notified_up_to_client_id
        where stored.status <> excluded.status and stored.since < excluded.since
          and stored.notified_up_to_client_id is null
       returning bic, since, status
     ), recorded as (
       insert into tiba.bank_status_changes (bic, since, status) select bic, since, status from changed
     )
     select bic from changed`,
    [bic, status, ageMs],
  );
  return changed.length > 0;
}

/** A change of a bank's availability of which not all clients have been notified. */
export interface PendingBankNotice {
  readonly status: BankAvailability['status'];
  readonly version: number;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** PostgreSQL's time, ISO 8601 UTC. Retention compares the time of events with it. */
  readonly now: string;
  /** The last client that was notified, in the order of client_id; '' when none was. */
  readonly notifiedUpToClientId: string;
}

/**
 * The row stays locked until the database transaction ends. null when all clients have been notified, or another
 * process is notifying them now.
 */
export async function claimPendingNotice(query: Query, bic: string): Promise<PendingBankNotice | null> {
  const { rows } = await query<
    Omit<PendingBankNotice, 'since' | 'now'> & { since: Date; now: Date } & Record<string, unknown>
  >(
    `select status, version, since, now(), notified_up_to_client_id as "notifiedUpToClientId"
       from tiba.bank_availability
      where bic = $1 and notified_up_to_client_id is not null for update skip locked`,
    [bic],
  );
  const [pending] = rows;
  return pending === undefined
    ? null
    : { ...pending, since: pending.since.toISOString(), now: pending.now.toISOString() };
}

/** `notifiedUpToClientId` is null when all clients have been notified. */
export async function recordNotified(query: Query, bic: string, notifiedUpToClientId: string | null): Promise<void> {
  await query('update tiba.bank_availability set notified_up_to_client_id = $2 where bic = $1', [
    bic,
    notifiedUpToClientId,
  ]);
}
