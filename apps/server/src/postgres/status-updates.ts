import type { UpdateResult } from '../domain/apply-update.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database, Query } from './database.ts';
import { compressMessages, decompressMessages } from './status-messages.ts';
import type { TransactionKey } from './transactions.ts';

export interface NewStatusUpdate extends TransactionKey {
  /** Where the update came from: the client_id of the feed, `rail:` and the rail, or `clock`. */
  readonly source: string;
  /** The message as it was received: JSON text. */
  readonly raw: string;
  readonly outcome: Exclude<UpdateResult['outcome'], 'rejected'>;
  /** Why it was not applied, or which of its fields were not; null when all of it was. */
  readonly reason: string | null;
}

/** The IDs that a row of `tiba.status_messages` has: its sequence grows by this. */
export const IDS_PER_ROW = 1_000;

/** SQL: the key in status_messages of the row with the message of this status update. */
export const firstIdOfRow = (statusUpdateId: string): string =>
  `${statusUpdateId} - ${statusUpdateId} % ${IDS_PER_ROW}`;

/**
 * Stores the messages of status updates, those of one client and source compressed together. Returns an ID for each,
 * in the same order.
 */
export async function insertStatusMessages(query: Query, updates: readonly NewStatusUpdate[]): Promise<number[]> {
  const rows = messageRows(updates);
  if (rows.length === 0) return [];
  const { rows: inserted } = await query<{ id: string }>(
    `insert into tiba.status_messages (client_id, source, messages)
     select client_id, source, messages
       from unnest($1::text[], $2::text[], $3::bytea[]) with ordinality as k (client_id, source, messages, position)
      -- So that the IDs grow in the order of the rows.
      order by position
     returning first_status_update_id as id`,
    [
      rows.map(({ clientId }) => clientId),
      rows.map(({ source }) => source),
      rows.map(({ messages }) => compressMessages(messages)),
    ],
    'insert-status-messages',
  );
  const firstIds = inserted.map(({ id }) => Number(id)).sort((one, other) => one - other);
  const ids = Array.from<number>({ length: updates.length });
  for (const [row, { positions }] of rows.entries()) {
    const firstId = firstIds[row] ?? Number.NaN;
    for (const [index, position] of positions.entries()) ids[position] = firstId + index;
  }
  return ids;
}

interface MessageRow {
  readonly clientId: string;
  readonly source: string;
  readonly messages: string[];
  /** Where each message stands among all updates. */
  readonly positions: number[];
}

function messageRows(updates: readonly NewStatusUpdate[]): MessageRow[] {
  const rows: MessageRow[] = [];
  // By client and by source: a key of both would be a text that is made, and hashed, for each update.
  const open = new Map<string, Map<string, MessageRow>>();
  for (const [position, { clientId, source, raw }] of updates.entries()) {
    let ofClient = open.get(clientId);
    if (ofClient === undefined) open.set(clientId, (ofClient = new Map()));
    let row = ofClient.get(source);
    if (row === undefined || row.messages.length === IDS_PER_ROW) {
      rows.push((row = { clientId, source, messages: [], positions: [] }));
      ofClient.set(source, row);
    }
    row.messages.push(raw);
    row.positions.push(position);
  }
  return rows;
}

const COLUMNS = ['client_id', 'transaction_id', 'status_update_id', 'outcome', 'reason'] as const;

/** `ids` has the ID of each update. Stores what a transaction does not say itself. */
export async function insertOtherStatusUpdates(
  query: Query,
  updates: readonly NewStatusUpdate[],
  ids: readonly number[],
): Promise<void> {
  const rows: Record<(typeof COLUMNS)[number], string | null>[] = [];
  for (const [index, update] of updates.entries()) {
    if (isNamedByTransaction(update)) continue;
    rows.push({
      client_id: update.clientId,
      transaction_id: update.transactionId,
      status_update_id: String(ids[index]),
      outcome: update.outcome,
      reason: update.reason,
    });
  }
  if (rows.length === 0) return;
  await query(
    `insert into tiba.other_status_updates (client_id, transaction_id, status_update_id, outcome, reason)
     select client_id, transaction_id, status_update_id::bigint, outcome, nullif(reason, '')
       from ${tableFromParameters(COLUMNS)}`,
    toColumnParameters(COLUMNS, rows),
  );
}

/**
 * Whether the transaction names this update itself (`inserted_by`, `advanced_by`): there is nothing to say about it.
 * Each transaction has at most one such update of either outcome.
 */
export const isNamedByTransaction = ({ outcome, reason }: Pick<NewStatusUpdate, 'outcome' | 'reason'>): boolean =>
  reason === null && (outcome === 'inserted' || outcome === 'advanced');

/** A status update as it is stored. */
export interface StatusUpdateRecord {
  /** In decimal digits. Later updates have greater ones. */
  readonly statusUpdateId: string;
  readonly outcome: NewStatusUpdate['outcome'];
  readonly reason: string | null;
  /** null, as are the next two, when the message was removed after its retention time. */
  readonly source: string | null;
  readonly receivedAt: Date | null;
  readonly raw: string | null;
}

interface DescribedUpdateRow extends Record<string, unknown> {
  status_update_id: string;
  outcome: NewStatusUpdate['outcome'];
  reason: string | null;
  source: string | null;
  received_at: Date | null;
}

interface StatusUpdateRow extends DescribedUpdateRow {
  messages: Buffer | null;
}

/** The latest status updates of a transaction, oldest first. */
export async function listStatusUpdates(
  database: Database,
  { clientId, transactionId }: TransactionKey,
  limit: number,
): Promise<StatusUpdateRecord[]> {
  const rows = await database.query<StatusUpdateRow>(
    `select u.status_update_id, u.outcome, u.reason, u.source, u.received_at, m.messages
       from tiba.status_updates u
       left join tiba.status_messages m
         on m.client_id = u.client_id
        and m.first_status_update_id = ${firstIdOfRow('u.status_update_id')}
      where u.client_id = $1 and u.transaction_id = $2
      order by u.status_update_id desc limit $3`,
    [clientId, transactionId, limit],
  );
  const compressed = new Map<number, Buffer>();
  for (const row of rows) if (row.messages !== null) compressed.set(messageRowOf(row.status_update_id), row.messages);
  const messages = await decompressRows(compressed);
  return rows.toReversed().map((row) => toStatusUpdate(row, messages));
}

/** All status updates of the client's transactions with these IDs, by transaction, oldest first. */
export async function listStatusUpdatesOf(
  database: Database,
  clientId: string,
  transactionIds: readonly string[],
): Promise<Map<string, StatusUpdateRecord[]>> {
  const rows = await database.query<DescribedUpdateRow & { transaction_id: string }>(
    `select u.transaction_id, u.status_update_id, u.outcome, u.reason, u.source, u.received_at
       from tiba.status_updates u
      where u.client_id = $1 and u.transaction_id = any ($2::text[]) order by u.status_update_id`,
    [clientId, transactionIds],
  );
  // Each row of messages is read once: hundreds of updates share one.
  const stored = await database.query<{ first_id: string; messages: Buffer }>(
    `select first_status_update_id as first_id, messages from tiba.status_messages
      where client_id = $1 and first_status_update_id = any ($2::bigint[])`,
    [clientId, [...new Set(rows.map((row) => messageRowOf(row.status_update_id) * IDS_PER_ROW))]],
  );
  const messages = await decompressRows(new Map(stored.map((row) => [messageRowOf(row.first_id), row.messages])));
  const updates = new Map<string, StatusUpdateRecord[]>();
  for (const row of rows) {
    const own = updates.get(row.transaction_id) ?? [];
    updates.set(row.transaction_id, own);
    own.push(toStatusUpdate(row, messages));
  }
  return updates;
}

/** By the number of their row. */
type MessagesByRow = ReadonlyMap<number, readonly string[]>;

const toStatusUpdate = (row: DescribedUpdateRow, messages: MessagesByRow): StatusUpdateRecord => {
  const raw = messages.get(messageRowOf(row.status_update_id))?.[Number(row.status_update_id) % IDS_PER_ROW];
  return {
    statusUpdateId: row.status_update_id,
    outcome: row.outcome,
    reason: row.reason,
    source: row.source,
    receivedAt: row.received_at,
    // Where only some messages of a row were restored from the archive, the others are empty.
    raw: raw === undefined || raw === '' ? null : raw,
  };
};

/** The number of the row of `tiba.status_messages`. */
export const messageRowOf = (statusUpdateId: string): number => Math.floor(Number(statusUpdateId) / IDS_PER_ROW);

/** Updates share rows of messages. Each of these is decompressed once. */
async function decompressRows(compressed: ReadonlyMap<number, Buffer>): Promise<MessagesByRow> {
  const decompressed = new Map<number, readonly string[]>();
  // One after the other: the thread pool also reads files and looks up names.
  for (const [number, messages] of compressed) decompressed.set(number, await decompressMessages(messages));
  return decompressed;
}
