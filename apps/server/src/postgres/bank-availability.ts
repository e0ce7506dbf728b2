import type { Database, Query } from './database.ts';

/**
 * That a bank answers, or that it does not, and how long ago that was seen. Ages, because several processes tell of the
 * same bank and PostgreSQL's is the one clock that they share.
 */
export interface BankAvailability {
  /** Eight characters. */
  readonly bic: string;
  readonly status: 'UP' | 'DOWN';
  readonly ageMs: number;
}

export interface PublishedAvailability extends BankAvailability {
  /** Whether all clients have been told. */
  readonly isPublished: boolean;
}

/** A bank that is not among them has never been told of: it is UP. */
export const listBankAvailability = (database: Database): Promise<PublishedAvailability[]> =>
  database.query<PublishedAvailability & Record<string, unknown>>(
    `select bic, status, (extract(epoch from now() - since) * 1000)::float8 as "ageMs", notified_up_to_client_id is null as "isPublished"
       from tiba.bank_availability`,
    [],
    'list-bank-availability',
  );

/**
 * Keeps what was seen, to be told, if it is news: another status than the one that is known, and seen later. False when
 * it is not, which it is for all but the first of several processes, and while clients are still being told the last.
 */
export async function changeBankAvailability(
  database: Database,
  { bic, status, ageMs }: BankAvailability,
): Promise<boolean> {
  const changed = await database.query(
    `insert into tiba.bank_availability as known (bic, status, since)
     values ($1, $2, now() - $3 * interval '1 millisecond')
     on conflict (bic) do update
        set status = excluded.status, version = known.version + 1, since = excluded.since, notified_up_to_client_id = excluded.notified_up_to_client_id
      where known.status <> excluded.status and known.since < excluded.since and known.notified_up_to_client_id is null
     returning bic`,
    [bic, status, ageMs],
  );
  return changed.length > 0;
}

/** What clients are still to be told of a bank. */
export interface PendingBankNotice {
  readonly status: BankAvailability['status'];
  readonly version: number;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** The last of the clients that know, in the order of client_id; '' when none does. */
  readonly notifiedUpToClientId: string;
}

/** Locked until the database transaction ends. null when all is told, or somebody else is just telling it. */
export async function claimPendingNotice(query: Query, bic: string): Promise<PendingBankNotice | null> {
  const { rows } = await query<Omit<PendingBankNotice, 'since'> & { since: Date } & Record<string, unknown>>(
    `select status, version, since, notified_up_to_client_id as "notifiedUpToClientId" from tiba.bank_availability
      where bic = $1 and notified_up_to_client_id is not null for update skip locked`,
    [bic],
  );
  const [untold] = rows;
  return untold === undefined ? null : { ...untold, since: untold.since.toISOString() };
}

/** `notifiedUpToClientId` is null when all clients know. */
export async function recordNotified(query: Query, bic: string, notifiedUpToClientId: string | null): Promise<void> {
  await query('update tiba.bank_availability set notified_up_to_client_id = $2 where bic = $1', [
    bic,
    notifiedUpToClientId,
  ]);
}
