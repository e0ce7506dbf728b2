import type { EventKind } from '../../domain/event.ts';
import { tableFromParameters, toColumnParameters } from '../bulk-parameters.ts';
import type { Query } from '../database.ts';
import { notifyDue } from '../due-endpoints.ts';

/** See `NewEvent`. */
interface EventOfClient {
  readonly subjectId: string;
  readonly version: number;
  readonly kind: EventKind;
  readonly data: string | null;
}

const COLUMNS = ['sequence', 'subject_id', 'version', 'kind', 'occurred_at', 'data'] as const;

/**
 * `insertEvents` on a distributed PostgreSQL, for the events of one client. There, one statement cannot insert into
 * several tables.
 */
export async function insertEventsOf(
  query: Query,
  clientId: string,
  events: readonly EventOfClient[],
  occurredAt: string,
): Promise<void> {
  await query(
    `insert into tiba.event_sequences as counts (client_id, last_sequence, last_occurred_at) values ($1, $2, $3)
     on conflict (client_id) do update
        set last_sequence = counts.last_sequence + excluded.last_sequence,
            last_occurred_at = greatest(counts.last_occurred_at, excluded.last_occurred_at)`,
    [clientId, events.length, occurredAt],
  );
  // A statement of its own: Citus writes no time as text in `returning`, and a `Date` would lose the microseconds.
  const { rows: numbered } = await query<{ last_sequence: string; last_time: string }>(
    'select last_sequence, last_occurred_at::text as last_time from tiba.event_sequences where client_id = $1',
    [clientId],
  );
  const { last_sequence: last, last_time: time = occurredAt } = numbered[0] ?? {};
  const first = Number(last) - events.length + 1;
  const rows = events.map((each, index) => ({
    sequence: String(first + index),
    subject_id: each.subjectId,
    version: String(each.version),
    kind: each.kind,
    occurred_at: time,
    data: each.data,
  }));
  await query(INSERT_SQL, [...toColumnParameters(COLUMNS, rows), clientId]);
  await insertDeliveries(query, clientId, rows);
}

const INSERT_SQL = `
insert into tiba.events (client_id, sequence, subject_id, version, kind, occurred_at, data)
select $${COLUMNS.length + 1}, sequence::bigint, subject_id, version::int, kind::tiba.event_kind,
       occurred_at::timestamptz, nullif(data, '')
  from ${tableFromParameters(COLUMNS)}`;

async function insertDeliveries(
  query: Query,
  clientId: string,
  events: readonly { readonly sequence: string; readonly kind: string }[],
): Promise<void> {
  // A statement of its own, after the numbering: it sees each change of endpoints that was committed before the number
  // was locked (see `noteEndpointChange`).
  const { rows: endpoints } = await query<{ endpoint_id: string; kinds: string[] }>(
    'select endpoint_id, kinds from tiba.callback_endpoints where client_id = $1 and disabled_at is null',
    [clientId],
  );
  const deliveries = endpoints.flatMap(({ endpoint_id: endpointId, kinds }) =>
    events.flatMap(({ sequence, kind }) => (kinds.includes(kind) ? [{ endpointId, sequence }] : [])),
  );
  if (deliveries.length === 0) return;
  await query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     select $1, endpoint_id, sequence, now()
       from unnest($2::text[], $3::bigint[]) as k (endpoint_id, sequence)`,
    [clientId, deliveries.map(({ endpointId }) => endpointId), deliveries.map(({ sequence }) => sequence)],
  );
  const due = new Set(deliveries.map(({ endpointId }) => endpointId));
  await notifyDue(
    query,
    Array.from(due, (endpointId) => ({ clientId, endpointId })),
  );
}
