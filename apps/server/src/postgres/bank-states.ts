import type { Database, Query } from './database.ts';

/**
 * That a bank answers, or that it does not, and how long ago that was seen. Ages, because several processes tell of the
 * same bank and PostgreSQL's is the one clock that they share.
 */
export interface BankState {
  /** Eight characters. */
  readonly bic: string;
  readonly status: 'UP' | 'DOWN';
  readonly agoMs: number;
}

export interface KnownBankState extends BankState {
  /** Whether all clients have been told. */
  readonly isTold: boolean;
}

/** A bank that is not among them has never been told of: it is UP. */
export const listBankStates = (database: Database): Promise<KnownBankState[]> =>
  database.query<KnownBankState & Record<string, unknown>>(
    `select bic, status, (extract(epoch from now() - since) * 1000)::float8 as "agoMs", told_up_to is null as "isTold"
       from tiba.bank_states`,
    [],
    'list-bank-states',
  );

/**
 * Keeps what was seen, to be told, if it is news: another status than the one that is known, and seen later. False when
 * it is not, which it is for all but the first of several processes, and while clients are still being told the last.
 */
export async function changeBankState(database: Database, { bic, status, agoMs }: BankState): Promise<boolean> {
  const changed = await database.query(
    `insert into tiba.bank_states as known (bic, status, since)
     values ($1, $2, now() - $3 * interval '1 millisecond')
     on conflict (bic) do update
        set status = excluded.status, version = known.version + 1, since = excluded.since, told_up_to = excluded.told_up_to
      where known.status <> excluded.status and known.since < excluded.since and known.told_up_to is null
     returning bic`,
    [bic, status, agoMs],
  );
  return changed.length > 0;
}

/** What clients are still to be told of a bank. */
export interface Untold {
  readonly status: BankState['status'];
  readonly version: number;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** The last of the clients that know, in the order of client_id; '' when none does. */
  readonly toldUpTo: string;
}

/** Locked until the database transaction ends. null when all is told, or somebody else is just telling it. */
export async function claimUntold(query: Query, bic: string): Promise<Untold | null> {
  const { rows } = await query<Omit<Untold, 'since'> & { since: Date } & Record<string, unknown>>(
    `select status, version, since, told_up_to as "toldUpTo" from tiba.bank_states
      where bic = $1 and told_up_to is not null for update skip locked`,
    [bic],
  );
  const [untold] = rows;
  return untold === undefined ? null : { ...untold, since: untold.since.toISOString() };
}

/** `toldUpTo` is null when all clients know. */
export async function recordTold(query: Query, bic: string, toldUpTo: string | null): Promise<void> {
  await query('update tiba.bank_states set told_up_to = $2 where bic = $1', [bic, toldUpTo]);
}
