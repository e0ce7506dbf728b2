import type { Database, Query } from './database.ts';
import { databaseOfClient, ofClient, queryOverClients } from './distributed/one-client.ts';
import type { HeldLease } from './leases.ts';

/** Which files the archive has, and up to which event of each client it is complete. */

export interface ArchiveFileKey {
  readonly clientId: string;
  /** Below the directory of the archive. */
  readonly path: string;
}

export interface ArchiveFile extends ArchiveFileKey {
  /** `YYYY-MM`: when its transactions ended, in UTC. */
  readonly month: string;
  readonly transactions: number;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

export type NewArchiveFile = Pick<ArchiveFile, 'clientId' | 'path' | 'month'>;

/** A client whose events can be archived. */
export interface ArchivePosition {
  readonly clientId: string;
  readonly archivedUpTo: number;
}

/** Clients with an event from before then that is not archived yet, in order, from the one after `afterClientId`. */
export async function listArchivePositions(
  database: Database,
  before: Date,
  { afterClientId, limit }: { readonly afterClientId: string; readonly limit: number },
): Promise<ArchivePosition[]> {
  const rows = await database.query<{ client_id: string; archived_up_to: string }>(
    `select s.client_id, s.archived_up_to
       from (select client_id, coalesce(archived_up_to, removed_up_to) as archived_up_to
               from tiba.event_sequences where client_id > $2) s
      cross join lateral (
        select v.occurred_at from tiba.events v
         where v.client_id = s.client_id and v.sequence > s.archived_up_to order by v.sequence limit 1) next
      where next.occurred_at < $1 order by s.client_id limit $3`,
    [before, afterClientId, limit],
  );
  return rows.map((row) => ({ clientId: row.client_id, archivedUpTo: Number(row.archived_up_to) }));
}

/** From now on no event is removed that is not archived. One by one: each row is what a client's events wait for. */
export async function beginArchive(database: Database): Promise<void> {
  const rows = await database.query<{ client_id: string }>(
    'select client_id from tiba.event_sequences where archived_up_to is null',
  );
  for (const { client_id: clientId } of rows) {
    await database.query(
      `update tiba.event_sequences set archived_up_to = removed_up_to
        where client_id = $1 and archived_up_to is null`,
      [clientId],
    );
  }
}

/** For how many clients the retention waits for the archive. */
export async function countArchivedClients(database: Database): Promise<number> {
  const rows = await database.query<{ clients: string }>(
    'select count(*) as clients from tiba.event_sequences where archived_up_to is not null',
  );
  return Number(rows[0]?.clients);
}

/** The retention waits for the archive no longer. One by one: each row is what a client's events wait for. */
export async function endArchive(database: Database): Promise<void> {
  const rows = await database.query<{ client_id: string }>(
    'select client_id from tiba.event_sequences where archived_up_to is not null',
  );
  for (const { client_id: clientId } of rows) {
    await database.query('update tiba.event_sequences set archived_up_to = null where client_id = $1', [clientId]);
  }
}

export async function hasArchive(database: Database): Promise<boolean> {
  const rows = await queryOverClients(
    database,
    `select s.client_id from tiba.event_sequences s
      where s.archived_up_to is not null ${ofClient('s')} order by s.client_id limit 1`,
  );
  return rows.length > 0;
}

/** The ID that marks the directory, and whether it must be marked already. Null before a service used the database. */
export async function findArchiveOwner(
  database: Database,
): Promise<{ readonly installationId: string; readonly hasFiles: boolean } | null> {
  const rows = await database.query<{ installation_id: string; has_files: boolean }>(
    'select installation_id, exists (select from tiba.archive_files) as has_files from tiba.installation',
  );
  const [row] = rows;
  return row === undefined ? null : { installationId: row.installation_id, hasFiles: row.has_files };
}

export interface ArchivedEvent {
  readonly sequence: number;
  readonly occurredAt: Date;
  /** The transaction that it ended or reversed; null for other events. */
  readonly transactionId: string | null;
  /** When that transaction ended. */
  readonly processedAt: Date | null;
}

/**
 * In one statement. Their transactions ended weeks ago, so they may be on the disk only: of many more, reading them
 * would take longer than a statement may.
 */
const EVENTS_PER_STATEMENT = 1_000;

/** The client's next events after this one, in order. */
export async function listEventsToArchive(
  database: Database,
  { clientId, archivedUpTo }: ArchivePosition,
  limit: number,
): Promise<ArchivedEvent[]> {
  const events: ArchivedEvent[] = [];
  for (let after = archivedUpTo; events.length < limit; after = events.at(-1)?.sequence ?? after) {
    const count = Math.min(limit - events.length, EVENTS_PER_STATEMENT);
    const page = await listNextEvents(database, { clientId, archivedUpTo: after }, count);
    events.push(...page);
    if (page.length < count) break;
  }
  return events;
}

async function listNextEvents(
  database: Database,
  { clientId, archivedUpTo }: ArchivePosition,
  limit: number,
): Promise<ArchivedEvent[]> {
  const rows = await databaseOfClient(database, clientId).query<{
    sequence: string;
    occurred_at: Date;
    transaction_id: string | null;
    processed_at: Date | null;
  }>(
    `select v.sequence, v.occurred_at, t.transaction_id, t.processed_at
       from (select * from tiba.events e where e.client_id = $1 and e.sequence > $2 ${ofClient('e')}
              order by e.sequence limit $3) v
       left join tiba.transactions_final t
         on t.client_id = v.client_id and t.transaction_id = v.subject_id
        and v.kind in ('disbursement.succeeded', 'disbursement.failed', 'disbursement.reversed') ${ofClient('t')}
      order by v.sequence`,
    [clientId, archivedUpTo, limit],
  );
  return rows.map((row) => ({
    sequence: Number(row.sequence),
    occurredAt: row.occurred_at,
    transactionId: row.transaction_id,
    processedAt: row.processed_at,
  }));
}

/** Before the files are written: what a killed process leaves of them is found by this. */
export async function announceArchiveFiles(database: Database, files: readonly NewArchiveFile[]): Promise<void> {
  await database.query(
    `insert into tiba.archive_files (client_id, path, month)
     select client_id, path, (month || '-01')::date
       from unnest($1::text[], $2::text[], $3::text[]) as k (client_id, path, month)`,
    [files.map(({ clientId }) => clientId), files.map(({ path }) => path), files.map(({ month }) => month)],
  );
}

/**
 * The files are written, and the archive of their client is complete up to this event. False, and nothing is changed,
 * when the lease was lost or another process has archived these events or claimed the files meanwhile.
 */
export function completeArchiveFiles(
  database: Database,
  lease: HeldLease,
  { clientId, archivedUpTo }: ArchivePosition,
  { newArchivedUpTo, files }: { readonly newArchivedUpTo: number; readonly files: readonly ArchiveFile[] },
): Promise<boolean> {
  return database.transaction(async (query) => {
    if (!(await lease.isHeld(query)) || !(await lockAnnounced(query, clientId, files))) return false;
    const { rowCount } = await query(
      `update tiba.event_sequences set archived_up_to = $3
        where client_id = $1 and coalesce(archived_up_to, removed_up_to) = $2`,
      [clientId, archivedUpTo, newArchivedUpTo],
    );
    if (rowCount !== 1) return false;
    await describeFiles(query, clientId, files);
    return true;
  });
}

/**
 * A file that takes the place of another, which is then to be deleted. False, and nothing is changed, when the lease
 * was lost or one of them has changed meanwhile.
 */
export function replaceArchiveFile(
  database: Database,
  lease: HeldLease,
  old: ArchiveFile,
  file: ArchiveFile,
): Promise<boolean> {
  return database.transaction(async (query) => {
    if (!(await lease.isHeld(query)) || !(await lockAnnounced(query, file.clientId, [file]))) return false;
    const { rowCount } = await query(
      `update tiba.archive_files set state = 'removed' where client_id = $1 and path = $2 and state = 'written'`,
      [old.clientId, old.path],
    );
    if (rowCount !== 1) return false;
    await describeFiles(query, file.clientId, [file]);
    return true;
  });
}

/**
 * After a restored backup: `file`, of which the backup knows nothing, counts in place of the missing one. False when
 * that one has changed meanwhile.
 */
export async function adoptArchiveFile(inside: Database, missing: ArchiveFile, file: ArchiveFile): Promise<boolean> {
  const rows = await inside.query(
    `update tiba.archive_files set path = $3, bytes = $4, sha256 = decode($5, 'hex')
      where client_id = $1 and path = $2 and state = 'written' and transactions = $6
     returning path`,
    [missing.clientId, missing.path, file.path, file.bytes, file.sha256, file.transactions],
  );
  return rows.length === 1;
}

/** Until the end of the database transaction no process claims these files. False when one has done so. */
async function lockAnnounced(query: Query, clientId: string, files: readonly ArchiveFile[]): Promise<boolean> {
  if (files.length === 0) return true;
  const { rowCount } = await query(
    `select from tiba.archive_files
      where client_id = $1 and path = any ($2::text[]) and state = 'announced' order by path for update`,
    [clientId, files.map(({ path }) => path)],
  );
  return rowCount === files.length;
}

async function describeFiles(query: Query, clientId: string, files: readonly ArchiveFile[]): Promise<void> {
  if (files.length === 0) return;
  await query(
    `update tiba.archive_files f
        set state = 'written', transactions = k.transactions, bytes = k.bytes, sha256 = decode(k.sha256, 'hex')
       from unnest($2::text[], $3::int[], $4::bigint[], $5::text[]) as k (path, transactions, bytes, sha256)
      where f.client_id = $1 and f.path = k.path collate "C" and f.state = 'announced'`,
    [
      clientId,
      files.map(({ path }) => path),
      files.map(({ transactions }) => transactions),
      files.map(({ bytes }) => bytes),
      files.map(({ sha256 }) => sha256),
    ],
  );
}

/**
 * Claims files that were not completed, or that were replaced, up to 1,000 of them, so that they can be deleted: none
 * of them can count from now on, even when the process that wrote it goes on.
 */
export async function claimRemovableArchiveFiles(database: Database): Promise<ArchiveFileKey[]> {
  const rows = await database.query<{ client_id: string; path: string }>(
    `update tiba.archive_files f set state = 'removed'
       from (select client_id, path from tiba.archive_files
              where state <> 'written' order by client_id, path limit 1000) k
      where f.client_id = k.client_id and f.path = k.path and f.state <> 'written' returning f.client_id, f.path`,
  );
  return rows.map((row) => ({ clientId: row.client_id, path: row.path }));
}

/** Files that do not count: not completed yet, or replaced; up to 1,000 of them. */
export async function listRemovableArchiveFiles(database: Database): Promise<ArchiveFileKey[]> {
  const rows = await database.query<{ client_id: string; path: string }>(
    `select client_id, path from tiba.archive_files where state <> 'written' order by client_id, path limit 1000`,
  );
  return rows.map((row) => ({ clientId: row.client_id, path: row.path }));
}

/** Whether the file counts. One that an erasure has replaced does not. */
export async function countsInArchive(database: Database, { clientId, path }: ArchiveFileKey): Promise<boolean> {
  const rows = await database.query(
    `select from tiba.archive_files where client_id = $1 and path = $2 and state = 'written'`,
    [clientId, path],
  );
  return rows.length > 0;
}

/** After the file was deleted. */
export async function forgetArchiveFile(database: Database, { clientId, path }: ArchiveFileKey): Promise<void> {
  await database.query(`delete from tiba.archive_files where client_id = $1 and path = $2 and state = 'removed'`, [
    clientId,
    path,
  ]);
}

export interface ArchiveFilter {
  /** null: of all clients. */
  readonly clientId: string | null;
  /** `YYYY-MM`; null: of all months. */
  readonly month: string | null;
}

const LIST_BATCH = 1_000;

/** The files that count, by client and in the order in which they were announced. */
export async function* listArchiveFiles(
  database: Database,
  { clientId, month }: ArchiveFilter,
): AsyncGenerator<ArchiveFile> {
  let after: ArchiveFileKey = { clientId: '', path: '' };
  for (;;) {
    const rows = await database.query<ArchiveFileRow>(
      `select client_id, path, to_char(month, 'YYYY-MM') as month, transactions, bytes, encode(sha256, 'hex') as sha256
         from tiba.archive_files
        where state = 'written' and (client_id, path) > ($1, $2)
          and ($3::text is null or client_id = $3) and ($4::text is null or month = ($4 || '-01')::date)
        order by client_id, path limit $5`,
      [after.clientId, after.path, clientId, month, LIST_BATCH],
    );
    const files = rows.map(toArchiveFile);
    yield* files;
    const last = files[LIST_BATCH - 1];
    if (last === undefined) return;
    after = last;
  }
}

interface ArchiveFileRow extends Record<string, unknown> {
  client_id: string;
  path: string;
  month: string;
  transactions: number;
  bytes: string;
  sha256: string;
}

const toArchiveFile = (row: ArchiveFileRow): ArchiveFile => ({
  clientId: row.client_id,
  path: row.path,
  month: row.month,
  transactions: row.transactions,
  bytes: Number(row.bytes),
  sha256: row.sha256,
});

/** Until `hours` from now on PostgreSQL's clock no retention deletes what belongs to transactions. */
export async function holdRetention(
  database: Database,
  { clientId, path }: ArchiveFileKey,
  hours: number,
): Promise<void> {
  await database.query(
    `update tiba.archive_files
        set held_until = greatest(held_until, now() + $3 * interval '1 hour') where client_id = $1 and path = $2`,
    [clientId, path, hours],
  );
}

/** The retention goes on. Returns how many restored files held it. */
export async function releaseRetention(database: Database): Promise<number> {
  const rows = await database.query(
    `update tiba.archive_files set held_until = null where held_until is not null and held_until > now()
     returning client_id`,
  );
  return rows.length;
}

export async function isRetentionHeld(database: Database): Promise<boolean> {
  const rows = await database.query(
    'select from tiba.archive_files where held_until is not null and held_until > now() limit 1',
  );
  return rows.length > 0;
}
