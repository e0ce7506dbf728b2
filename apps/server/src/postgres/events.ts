import type { EventKind } from '../domain/event.ts';
import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database, Query } from './database.ts';
import { selectDeliveryJobs } from './delivery-jobs.ts';

/** Something that a client is told about, before it has its place in the client's sequence. */
export interface NewEvent {
  readonly clientId: string;
  /** What it happened to: a transaction, a job, a bank. No two of a client's subjects have the same ID. */
  readonly subjectId: string;
  /** The subject's, after what happened. */
  readonly version: number;
  readonly kind: EventKind;
  /** ISO 8601 UTC. */
  readonly occurredAt: string;
  /** The subject as the API shows it, JSON text. */
  readonly data: string;
}

export interface Event extends NewEvent {
  /** From 1, without gaps, for each client. */
  readonly sequence: number;
}

const COLUMNS = ['client_id', 'subject_id', 'version', 'kind', 'occurred_at', 'data'] as const;

/**
 * Gives each event its place in its client's sequence, and makes a delivery of it, and the job that carries it, for each
 * endpoint that wants it. The client's count stays locked until the database transaction ends, so the numbers are there
 * in order and without gaps; call it last.
 */
export async function insertEvents(query: Query, happenings: readonly NewEvent[]): Promise<void> {
  if (happenings.length === 0) return;
  const rows = happenings.map((each) => ({
    client_id: each.clientId,
    subject_id: each.subjectId,
    version: String(each.version),
    kind: each.kind,
    occurred_at: each.occurredAt,
    data: each.data,
  }));
  await query(INSERT_SQL, toColumnParameters(COLUMNS, rows));
}

const INSERT_SQL = `
with given as (
  select * from ${tableFromParameters(COLUMNS, 'place')}
), counted as (
  insert into tiba.event_sequences as counts (client_id, last_sequence)
  -- In the order of the key, so that two that tell of the same clients wait for, not block, each other.
  select client_id, count(*) from given group by client_id order by client_id
  on conflict (client_id) do update set last_sequence = counts.last_sequence + excluded.last_sequence
  returning client_id, last_sequence
), told as (
  insert into tiba.events (client_id, sequence, subject_id, version, kind, occurred_at, data)
  select client_id,
         last_sequence - count(*) over (partition by client_id) + row_number() over (partition by client_id order by place),
         subject_id, version::int, kind, occurred_at::timestamptz, data
    from given join counted using (client_id)
  returning client_id, sequence, kind
), owed as (
  insert into tiba.callback_deliveries (client_id, endpoint_id, sequence, next_attempt_at)
  select client_id, endpoint_id, sequence, now()
    from told join tiba.callback_endpoints e using (client_id)
   where e.disabled_at is null and told.kind = any (e.kinds)
  returning client_id, endpoint_id
)
${selectDeliveryJobs('(select distinct client_id, endpoint_id from owed) as due')}`;

/** The client's events after the one with this number, in their order. */
export async function listEvents(
  database: Database,
  clientId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Event[]> {
  const rows = await database.query<EventRow>(
    `select client_id, sequence, subject_id, version, kind, occurred_at, data from tiba.events
      where client_id = $1 and sequence > $2 order by sequence limit $3`,
    [clientId, after, limit],
    'list-events',
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    sequence: Number(row.sequence),
    subjectId: row.subject_id,
    version: row.version,
    kind: row.kind,
    occurredAt: row.occurred_at.toISOString(),
    data: row.data,
  }));
}

interface EventRow extends Record<string, unknown> {
  client_id: string;
  sequence: string;
  subject_id: string;
  version: number;
  kind: EventKind;
  occurred_at: Date;
  data: string;
}
