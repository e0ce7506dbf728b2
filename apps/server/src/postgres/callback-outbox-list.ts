import type { EventKind } from '../domain/event.ts';
import type { DeliveryKey } from './callback-history.ts';
import type { Database } from './database.ts';
import { eachClient, ofClient } from './distributed/one-client.ts';

/** The outbox over all clients, for the operator. */

export const UNDELIVERED_STATES = ['exhausted', 'pending'] as const;
type UndeliveredStateName = (typeof UNDELIVERED_STATES)[number];

/** A delivery that has not succeeded. Times are ISO 8601 UTC. */
export interface UndeliveredDelivery extends DeliveryKey {
  readonly url: string;
  /** null, as are the next two, when the event was removed after its retention time. */
  readonly kind: EventKind | null;
  readonly subjectId: string | null;
  readonly occurredAt: string | null;
  readonly state: UndeliveredStateName;
  readonly attempts: number;
  /** null unless pending. */
  readonly nextAttemptAt: string | null;
  readonly endedAt: string | null;
  /** null before the first attempt, and when it was removed after its retention time. */
  readonly lastAttempt: LastAttempt | null;
}

export interface LastAttempt {
  readonly at: string;
  /** null when there was no response. */
  readonly httpStatus: number | null;
  readonly error: string | null;
}

/** Null where a condition is not given. */
export interface UndeliveredFilter {
  readonly clientId: string | null;
  readonly endpointId: string | null;
  readonly state: UndeliveredStateName | null;
}

/** In the order of the key. */
export async function listUndelivered(
  database: Database,
  filter: UndeliveredFilter,
  { after, limit }: { readonly after: DeliveryKey | null; readonly limit: number },
): Promise<UndeliveredDelivery[]> {
  const found: UndeliveredDelivery[] = [];
  // Clients come in the order of the key.
  for await (const own of eachClient(database, filter.clientId)) {
    if (found.length < limit) found.push(...(await listOwn(own, filter, { after, limit: limit - found.length })));
  }
  return found;
}

async function listOwn(
  database: Database,
  filter: UndeliveredFilter,
  { after, limit }: { readonly after: DeliveryKey | null; readonly limit: number },
): Promise<UndeliveredDelivery[]> {
  const values: unknown[] = [limit];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const ofEndpoint = [
    ...(filter.clientId === null ? [] : [`o.client_id = ${parameter(filter.clientId)}`]),
    ...(filter.endpointId === null ? [] : [`o.endpoint_id = ${parameter(filter.endpointId)}`]),
  ];
  const position =
    after === null
      ? null
      : [parameter(after.clientId), parameter(after.endpointId), `${parameter(after.sequence)}::bigint`].join(', ');
  const isAfter = (sequence: string): string[] =>
    position === null ? [] : [`(o.client_id, o.endpoint_id, ${sequence}) > (${position})`];
  const own = [
    ...ofEndpoint,
    // As text in the statement: the index of exhausted deliveries is a partial one.
    ...(filter.state === null ? [] : [`o.state = '${filter.state}'`]),
    ...isAfter('o.sequence'),
  ];
  const ranges = [...ofEndpoint, ...isAfter('o.last_sequence'), ...(filter.state === 'exhausted' ? ['false'] : [])];
  const rows = await database.query<UndeliveredRow>(
    `select o.client_id, o.endpoint_id, o.sequence, e.url, v.kind, v.subject_id, v.occurred_at, o.state, o.attempts,
            o.next_attempt_at, o.ended_at, l.started_at, l.http_status, l.error
       from ((select o.client_id, o.endpoint_id, o.sequence, o.state, o.attempts,
                     greatest(o.next_attempt_at, o.claimed_until) as next_attempt_at, o.ended_at
                from tiba.callback_outbox o where ${[...own, 'true'].join(' and ')} ${ofClient('o')}
               order by o.client_id, o.endpoint_id, o.sequence limit $1)
             union all
             (select o.client_id, o.endpoint_id, s.sequence, 'pending', 0, o.due_at, null
                from (select * from tiba.callback_outbox_ranges o
                       where ${[...ranges, 'true'].join(' and ')} ${ofClient('o')}
                       order by o.client_id, o.endpoint_id, o.last_sequence limit $1) o
               cross join lateral generate_series(o.first_sequence, o.last_sequence) as s (sequence)
               where ${[...isAfter('s.sequence'), 'true'].join(' and ')}
               order by o.client_id, o.endpoint_id, s.sequence limit $1)
              order by client_id, endpoint_id, sequence limit $1) as o
       join tiba.callback_endpoints e
         on e.client_id = o.client_id and e.endpoint_id = o.endpoint_id ${ofClient('e')}
       left join tiba.events v on v.client_id = o.client_id and v.sequence = o.sequence ${ofClient('v')}
       -- One row by its key for each row of the page.
       left join lateral (
         select a.started_at, a.http_status, a.error from tiba.callback_attempts a
          where a.client_id = o.client_id and a.endpoint_id = o.endpoint_id and a.sequence = o.sequence ${ofClient('a')}
          order by a.attempt desc limit 1
       ) l on true
      order by o.client_id, o.endpoint_id, o.sequence`,
    values,
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    endpointId: row.endpoint_id,
    sequence: Number(row.sequence),
    url: row.url,
    kind: row.kind,
    subjectId: row.subject_id,
    occurredAt: row.occurred_at?.toISOString() ?? null,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.state === 'pending' ? row.next_attempt_at.toISOString() : null,
    endedAt: row.ended_at?.toISOString() ?? null,
    lastAttempt:
      row.started_at === null
        ? null
        : { at: row.started_at.toISOString(), httpStatus: row.http_status, error: row.error },
  }));
}

interface UndeliveredRow extends Record<string, unknown> {
  client_id: string;
  endpoint_id: string;
  sequence: string;
  url: string;
  kind: EventKind | null;
  subject_id: string | null;
  occurred_at: Date | null;
  state: UndeliveredStateName;
  attempts: number;
  next_attempt_at: Date;
  ended_at: Date | null;
  started_at: Date | null;
  http_status: number | null;
  error: string | null;
}
