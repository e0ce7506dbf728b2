import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database } from './database.ts';
import { insertListedAccountChecks } from './distributed/account-checks.ts';
import {
  databaseOfClient,
  deleteOverClients,
  eachClient,
  earliestOverClients,
  ofClient,
} from './distributed/one-client.ts';

const COLUMNS = [
  'client_id',
  'checked_at',
  'bic',
  'account_hash',
  'outcome',
  'rail',
  'age_seconds',
  'request_id',
] as const;

/**
 * One audit record, as text by column: created once for each check on the hot path and sent as it is. `checked_at` is
 * ISO 8601 UTC, `account_hash` hexadecimal.
 */
export interface NewAccountCheck extends Readonly<Record<(typeof COLUMNS)[number], string | null>> {
  readonly client_id: string;
}

/**
 * Inserts audit records with the IDs `firstId` and following. After an error it may be unknown whether a batch was
 * written: inserted again with the same IDs, it is stored once.
 */
export async function insertAccountChecks(
  database: Database,
  firstId: number,
  checks: readonly NewAccountCheck[],
): Promise<void> {
  if (database.distributed) return insertListedAccountChecks(database, firstId, checks);
  await database.query(INSERT_SQL, [...toColumnParameters(COLUMNS, checks), firstId], 'insert-account-checks');
}

const INSERT_SQL = `
insert into tiba.account_checks (check_id, ${COLUMNS.join(', ')})
select $${COLUMNS.length + 1}::bigint + input_order - 1, client_id, checked_at::timestamptz, bic,
       decode(account_hash, 'hex'), outcome, nullif(rail, ''), nullif(age_seconds, '')::integer, nullif(request_id, '')
  from ${tableFromParameters(COLUMNS, 'input_order')}
on conflict do nothing`;

export interface AccountCheck {
  readonly clientId: string;
  /** ISO 8601 UTC. */
  readonly checkedAt: string;
  /** A whole number, which may be too large for a number of JavaScript. */
  readonly checkId: string;
  readonly bic: string;
  /** Hexadecimal. */
  readonly accountHash: string;
  readonly outcome: string;
  readonly rail: string | null;
  readonly ageSeconds: number | null;
  readonly requestId: string | null;
}

export interface AccountCheckFilter {
  /** At least one of these two is not null. */
  readonly clientId: string | null;
  readonly accountHash: string | null;
  /** ISO 8601 UTC, both inclusive; null for no limit. */
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/** The newest first. Crosses clients: it is for the operator. */
export async function findAccountChecks(database: Database, filter: AccountCheckFilter): Promise<AccountCheck[]> {
  const found: AccountCheck[] = [];
  for await (const own of eachClient(database, filter.clientId)) found.push(...(await findNewest(own, filter)));
  if (!database.distributed) return found;
  return found.sort((one, other) => (one.checkedAt < other.checkedAt ? 1 : -1)).slice(0, filter.limit);
}

async function findNewest(database: Database, filter: AccountCheckFilter): Promise<AccountCheck[]> {
  const values: unknown[] = [filter.from ?? '-infinity', filter.to ?? 'infinity', filter.limit];
  const conditions = [
    `a.client_id = c.client_id ${ofClient('a')}`,
    'a.checked_at between $1::timestamptz and $2::timestamptz',
    ...(filter.accountHash === null ? [] : [`a.account_hash = decode($${values.push(filter.accountHash)}, 'hex')`]),
  ];
  const clients =
    filter.clientId === null ? 'tiba.clients' : `(select $${values.push(filter.clientId)}::text as client_id)`;
  // Reads the latest checks of each client in the order of an index, then merges them.
  const rows = await database.query<AccountCheckRow>(
    `select ${COLUMNS_OF_A}
       from ${clients} c
      cross join lateral (
        select * from tiba.account_checks a where ${conditions.join(' and ')} order by a.checked_at desc limit $3
      ) a
      order by a.checked_at desc limit $3`,
    values,
  );
  return rows.map(toAccountCheck);
}

/** The checks of one request, the newest first. Crosses clients: it is for the operator. */
export async function findAccountChecksByRequest(
  database: Database,
  requestId: string,
  limit: number,
): Promise<AccountCheck[]> {
  const rows = await database.query<AccountCheckRow>(
    `select ${COLUMNS_OF_A} from tiba.account_checks a
      where a.request_id = $1 order by a.checked_at desc, a.check_id desc limit $2`,
    [requestId, limit],
  );
  return rows.map(toAccountCheck);
}

const COLUMNS_OF_A = `a.client_id, a.checked_at, a.check_id, a.bic, encode(a.account_hash, 'hex') as account_hash,
            a.outcome, a.rail, a.age_seconds, a.request_id`;

const toAccountCheck = (row: AccountCheckRow): AccountCheck => ({
  clientId: row.client_id,
  checkedAt: row.checked_at.toISOString(),
  checkId: row.check_id,
  bic: row.bic,
  accountHash: row.account_hash,
  outcome: row.outcome,
  rail: row.rail,
  ageSeconds: row.age_seconds,
  requestId: row.request_id,
});

/** Which checks of a client to list; null where a condition is not given. Times are ISO 8601 UTC. */
export interface ClientChecksFilter {
  /** From this time on. */
  readonly from: string | null;
  /** Before this time. */
  readonly to: string | null;
  /** Hexadecimal: one for each bank where the account may be. */
  readonly accountHashes: readonly string[] | null;
  readonly requestId: string | null;
}

/** The place of a check in the list of a client. */
export interface CheckPosition {
  /** ISO 8601 UTC. */
  readonly checkedAt: string;
  readonly checkId: string;
}

/** The client's checks, the newest first. */
export async function listAccountChecks(
  database: Database,
  clientId: string,
  { from, to, accountHashes, requestId }: ClientChecksFilter,
  { after, limit }: { readonly after: CheckPosition | null; readonly limit: number },
): Promise<AccountCheck[]> {
  const values: unknown[] = [clientId, from ?? '-infinity', to ?? 'infinity', limit];
  const conditions = [
    'a.client_id = $1 and a.checked_at >= $2::timestamptz and a.checked_at < $3::timestamptz',
    ...(requestId === null ? [] : [`a.request_id = $${values.push(requestId)}`]),
    ...(after === null
      ? []
      : [
          `(a.checked_at, a.check_id)
             < ($${values.push(after.checkedAt)}::timestamptz, $${values.push(after.checkId)}::bigint)`,
        ]),
  ];
  const order = 'order by a.checked_at desc, a.check_id desc limit $4';
  const checks = (own: string): string =>
    `select * from tiba.account_checks a where ${[...conditions, own].join(' and ')} ${order}`;
  // Of an account, the latest checks at each bank are read in the order of the index and then merged.
  const source =
    accountHashes === null
      ? `(${checks('true')})`
      : `unnest($${values.push(accountHashes)}::text[]) as h (hash)
         cross join lateral (${checks("a.account_hash = decode(h.hash, 'hex')")})`;
  const sql = `select ${COLUMNS_OF_A} from ${source} a ${order}`;
  const rows = await databaseOfClient(database, clientId).query<AccountCheckRow>(sql, values);
  return rows.map(toAccountCheck);
}

interface AccountCheckRow extends Record<string, unknown> {
  client_id: string;
  checked_at: Date;
  check_id: string;
  bic: string;
  account_hash: string;
  outcome: string;
  rail: string | null;
  age_seconds: number | null;
  request_id: string | null;
}

/** Deletes up to `limit` records from before then (ISO 8601 UTC), the oldest of each client first. Returns how many. */
export const deleteAccountChecks = (database: Database, before: string, limit: number): Promise<number> =>
  deleteOverClients(database, limit, async (own, left) => {
    const [row] = await own.query<{ deleted: number }>(DELETE_SQL, [before, left]);
    return row?.deleted ?? 0;
  });

const DELETE_SQL = `
with old as materialized (
  select a.client_id, a.checked_at, a.check_id
    from tiba.clients c
   cross join lateral (
     select a.client_id, a.checked_at, a.check_id from tiba.account_checks a
      where a.client_id = c.client_id and a.checked_at < $1::timestamptz ${ofClient('a')}
      order by a.checked_at limit $2
   ) a
   limit $2
), deleted as (
  delete from tiba.account_checks a using old
   where a.client_id = old.client_id and a.checked_at = old.checked_at and a.check_id = old.check_id ${ofClient('a')}
  returning 1
)
select count(*)::integer as deleted from deleted`;

export const findOldestAccountCheck = (database: Database): Promise<Date | null> =>
  earliestOverClients(database, async (own) => {
    const [row] = await own.query<{ oldest: Date | null }>(
      `select min(first.checked_at) as oldest from tiba.clients c
        cross join lateral (select a.checked_at from tiba.account_checks a
                             where a.client_id = c.client_id ${ofClient('a')}
                             order by a.checked_at limit 1) first`,
    );
    return row?.oldest ?? null;
  });

export interface CheckedAccountsFilter {
  readonly clientId: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** Outcomes that do not count, because no inquiry was sent. */
  readonly excludedOutcomes: readonly string[];
}

const READ_BATCH = 5_000;

/** Passes the hashes of the accounts that a client has checked since then to `onHashes`, in batches. */
export async function readCheckedAccounts(
  database: Database,
  { clientId, since, excludedOutcomes }: CheckedAccountsFilter,
  onHashes: (hashes: readonly string[]) => void,
): Promise<void> {
  let after: readonly [Date | string, string] = [since, '0'];
  for (;;) {
    const rows = await database.query<{ checked_at: Date; check_id: string; hash: string; counts: boolean }>(
      `select checked_at, check_id, encode(account_hash, 'hex') as hash,
              age_seconds is null and outcome <> all ($4::text[]) as counts
         from tiba.account_checks
        where client_id = $1 and (checked_at, check_id) > ($2::timestamptz, $3::bigint)
        order by client_id, checked_at, check_id limit $5`,
      [clientId, ...after, excludedOutcomes, READ_BATCH],
    );
    onHashes(rows.flatMap(({ hash, counts }) => (counts ? [hash] : [])));
    const last = rows[READ_BATCH - 1];
    if (last === undefined) return;
    after = [last.checked_at, last.check_id];
  }
}
