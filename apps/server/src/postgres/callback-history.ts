import type { EventKind } from '../domain/event.ts';
import { RANGE_MAX, rangeWith } from './callback-outbox-ranges.ts';
import type { Database } from './database.ts';
import { databaseOfClient, ofClient } from './distributed/one-client.ts';
import type { EndpointKey } from './due-endpoints.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'exhausted'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface DeliveryKey extends EndpointKey {
  readonly sequence: number;
}

/** The delivery of one event to one endpoint. Times are ISO 8601 UTC. */
export interface Delivery extends DeliveryKey {
  readonly subjectId: string;
  readonly version: number;
  readonly kind: EventKind;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** null unless pending. */
  readonly nextAttemptAt: string | null;
  /** When it was delivered or exhausted; null while pending. */
  readonly endedAt: string | null;
}

export interface Attempt {
  readonly attempt: number;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly httpStatus: number | null;
  readonly answer: string | null;
  readonly error: string | null;
}

export interface DeliveryRow extends Record<string, unknown> {
  client_id: string;
  endpoint_id: string;
  sequence: string;
  subject_id: string;
  version: number;
  kind: EventKind;
  state: DeliveryState;
  attempts: number;
  /** null unless pending or exhausted. */
  next_attempt_at: Date | null;
  ended_at: Date | null;
}

/**
 * SQL: all deliveries, as the view `tiba.callback_deliveries` has them. A statement with the view would ask all nodes
 * of a distributed database: here a table is marked.
 *
 * `offset 0` keeps PostgreSQL from making joins of these conditions. Until it has counted the rows of the tables, such
 * a join would read all that the endpoint has, for each delivery.
 */
export const DELIVERIES = `(
  select client_id, endpoint_id, sequence, state, attempts, greatest(next_attempt_at, claimed_until) as next_attempt_at,
         ended_at
    from tiba.callback_outbox
  union all
  select e.client_id, e.endpoint_id, v.sequence, 'pending', 0, r.due_at, null
    from tiba.callback_endpoints e
    join tiba.events v on v.client_id = e.client_id ${ofClient('v')}
   cross join ${rangeWith('e.client_id', 'e.endpoint_id', 'v.sequence')}
  union all
  select a.client_id, a.endpoint_id, a.sequence, 'delivered',
         (select max(l.attempt) from tiba.callback_attempts l
           where l.client_id = a.client_id and l.endpoint_id = a.endpoint_id and l.sequence = a.sequence
                 ${ofClient('l')}),
         null, a.started_at + a.duration_ms * interval '1 millisecond'
    from tiba.callback_attempts a
   where a.http_status between 200 and 299
     and not exists (select from tiba.callback_attempts l
                      where l.client_id = a.client_id and l.endpoint_id = a.endpoint_id and l.sequence = a.sequence
                        and l.attempt > a.attempt and l.http_status between 200 and 299
                            ${ofClient('l')} offset 0)
     and not exists (select from tiba.callback_outbox o
                      where o.client_id = a.client_id and o.endpoint_id = a.endpoint_id and o.sequence = a.sequence
                            ${ofClient('o')} offset 0))`;

/** Columns of a delivery `d` and its event `v`. */
export const DELIVERY_COLUMNS = `d.client_id, d.endpoint_id, d.sequence, v.subject_id, v.version, v.kind,
            d.state, d.attempts, d.next_attempt_at, d.ended_at`;

export interface DeliveryFilter {
  readonly endpointId: string | null;
  readonly state: DeliveryState | null;
  /** Only deliveries after this one in the list. It may have been deleted since. */
  readonly after: Pick<DeliveryKey, 'sequence' | 'endpointId'> | null;
  readonly limit: number;
}

/** The client's deliveries, latest events first. */
export async function listDeliveries(
  database: Database,
  clientId: string,
  { endpointId, state, after, limit }: DeliveryFilter,
): Promise<Delivery[]> {
  // Reads the latest deliveries of each endpoint in key order, those in the outbox and those that attempts have ended,
  // then merges them: a client has few endpoints.
  const rows = await databaseOfClient(database, clientId).query<DeliveryRow>(
    `select ${DELIVERY_COLUMNS}
       from tiba.callback_endpoints e
      cross join lateral (
        (select o.sequence from tiba.callback_outbox o
          where o.client_id = e.client_id and o.endpoint_id = e.endpoint_id and ($3::text is null or o.state = $3)
            and o.sequence <= $4 and (o.sequence < $4 or o.endpoint_id < $5) ${ofClient('o')}
          order by o.sequence desc limit $6)
        union
        -- One range more: of the first one, there may be no event after the position.
        (select s.sequence
           from (select * from tiba.callback_outbox_ranges r
                  where r.client_id = e.client_id and r.endpoint_id = e.endpoint_id ${ofClient('r')}
                    and ($3::text is null or $3 = 'pending')
                    and r.last_sequence < $4::bigint + ${RANGE_MAX} and r.first_sequence <= $4
                  order by r.last_sequence desc limit $6 + 1) r
          cross join lateral generate_series(r.first_sequence, r.last_sequence) as s (sequence)
          where s.sequence <= $4 and (s.sequence < $4 or r.endpoint_id < $5)
          order by s.sequence desc limit $6)
        union
        (select distinct a.sequence from tiba.callback_attempts a
          where a.client_id = e.client_id and a.endpoint_id = e.endpoint_id and a.http_status between 200 and 299
            and a.sequence <= $4 and (a.sequence < $4 or a.endpoint_id < $5)
            and not exists (select from tiba.callback_outbox o
                             where o.client_id = a.client_id and o.endpoint_id = a.endpoint_id
                               and o.sequence = a.sequence ${ofClient('o')} offset 0) ${ofClient('a')}
          -- Not in a condition, which the planner would find false: Citus then does not see whose rows these are.
          order by a.sequence desc limit $7)
      ) latest
      cross join lateral (
        select * from ${DELIVERIES} own
         where own.client_id = e.client_id and own.endpoint_id = e.endpoint_id and own.sequence = latest.sequence
               ${ofClient('own')}
         -- Without this, the view would be read as a whole.
        offset 0
      ) d
       join tiba.events v on v.client_id = d.client_id and v.sequence = d.sequence ${ofClient('v')}
      where e.client_id = $1 and ($2::text is null or e.endpoint_id = $2)
      order by d.sequence desc, d.endpoint_id desc limit $6`,
    [
      clientId,
      endpointId,
      state,
      after?.sequence ?? Number.MAX_SAFE_INTEGER,
      after?.endpointId ?? '',
      limit,
      state === null || state === 'delivered' ? limit : 0,
    ],
  );
  return rows.map(toDelivery);
}

export async function findDelivery(
  database: Database,
  { clientId, endpointId, sequence }: DeliveryKey,
): Promise<Delivery | null> {
  const rows = await databaseOfClient(database, clientId).query<DeliveryRow>(
    `select ${DELIVERY_COLUMNS}
       from ${DELIVERIES} d
       join tiba.events v on v.client_id = d.client_id and v.sequence = d.sequence
      where d.client_id = $1 and d.endpoint_id = $2 and d.sequence = $3`,
    [clientId, endpointId, sequence],
  );
  return rows.map(toDelivery)[0] ?? null;
}

/** The latest attempts of a delivery, oldest first. */
export async function listAttempts(
  database: Database,
  { clientId, endpointId, sequence }: DeliveryKey,
  limit: number,
): Promise<Attempt[]> {
  const rows = await databaseOfClient(database, clientId).query<AttemptRow>(
    `select attempt, started_at, duration_ms, http_status, answer, error from tiba.callback_attempts
      where client_id = $1 and endpoint_id = $2 and sequence = $3 order by attempt desc limit $4`,
    [clientId, endpointId, sequence, limit],
  );
  return rows.toReversed().map(toAttempt);
}

export interface AttemptRow extends Record<string, unknown> {
  attempt: number;
  started_at: Date;
  duration_ms: number;
  http_status: number | null;
  answer: string | null;
  error: string | null;
}

export const toAttempt = (row: AttemptRow): Attempt => ({
  attempt: row.attempt,
  startedAt: row.started_at.toISOString(),
  durationMs: row.duration_ms,
  httpStatus: row.http_status,
  answer: row.answer,
  error: row.error,
});

export const toDelivery = (row: DeliveryRow): Delivery => ({
  clientId: row.client_id,
  endpointId: row.endpoint_id,
  sequence: Number(row.sequence),
  subjectId: row.subject_id,
  version: row.version,
  kind: row.kind,
  state: row.state,
  attempts: row.attempts,
  nextAttemptAt: row.state === 'pending' ? (row.next_attempt_at?.toISOString() ?? null) : null,
  endedAt: row.ended_at?.toISOString() ?? null,
});
