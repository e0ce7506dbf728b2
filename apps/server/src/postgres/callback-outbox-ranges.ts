import type { Query } from './database.ts';
import { ofClient } from './distributed/one-client.ts';
import type { EndpointKey } from './due-endpoints.ts';
import { NOTIFY_SQL, type Notifications, notifyParameters } from './notification-payloads.ts';

/**
 * Deliveries that no process has claimed yet (docs/decisions/0064-ranges-of-deliveries.md). Consecutive events that an
 * endpoint wants share one row of `tiba.callback_outbox_ranges`, as long as they are due since the same time. A
 * delivery is here, or it has a row of `tiba.callback_outbox`, or an attempt has ended it.
 *
 * A distributed PostgreSQL has no ranges: there, a statement cannot move rows from one table to another.
 */

/** Events of one range at most. */
export const RANGE_MAX = 1_000;

export interface OutboxRange extends EndpointKey {
  readonly first: number;
  readonly last: number;
}

/** The ranges of events with these numbers, in order. */
export function outboxRangesOf({ clientId, endpointId }: EndpointKey, sequences: readonly number[]): OutboxRange[] {
  const ranges: OutboxRange[] = [];
  let first = sequences[0] ?? 0;
  for (const [index, sequence] of sequences.entries()) {
    if (sequences[index + 1] === sequence + 1 && sequence + 1 < first + RANGE_MAX) continue;
    ranges.push({ clientId, endpointId, first, last: sequence });
    first = sequences[index + 1] ?? 0;
  }
  return ranges;
}

// One statement for both: a feed waits for PostgreSQL as seldom as it can.
const INSERT_SQL = `
with inserted as (
  insert into tiba.callback_outbox_ranges (client_id, endpoint_id, first_sequence, last_sequence)
  select * from unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[])
)
${NOTIFY_SQL}`;

/** PostgreSQL's clock makes them due at once. Sends the notifications when the database transaction commits. */
export async function insertOutboxRanges(
  query: Query,
  ranges: readonly OutboxRange[],
  notifications: readonly Notifications[],
): Promise<void> {
  const values = [
    ...notifyParameters(notifications),
    ranges.map(({ clientId }) => clientId),
    ranges.map(({ endpointId }) => endpointId),
    ranges.map(({ first }) => first),
    ranges.map(({ last }) => last),
  ];
  await query(INSERT_SQL, values, 'insert-outbox-ranges');
}

/**
 * SQL: the range that has the event with this number, as `r`; no row where none has. Of the ranges that do not end
 * before it only the first can have it, so one entry of the key is read.
 */
export const rangeWith = (clientId: string, endpointId: string, sequence: string): string => `lateral (
     select next.due_at
       from (select r.first_sequence, r.due_at from tiba.callback_outbox_ranges r
              where r.client_id = ${clientId} and r.endpoint_id = ${endpointId}
                and r.last_sequence >= ${sequence} ${ofClient('r')}
              order by r.last_sequence limit 1) next
      where next.first_sequence <= ${sequence}) r`;

/** SQL: the range `r` has an event from `first` to `last`. */
const hasAnyOf = (first: string, last: string): string =>
  `r.last_sequence >= ${first} and r.last_sequence < ${last} + ${RANGE_MAX} and r.first_sequence <= ${last}`;

/**
 * Gives deliveries of an endpoint that are in ranges rows of their own: those of the events from `first` to `last`.
 *
 * Of two callers that need the same range, the second waits until the first has split it. Then it takes nothing: the
 * parts are not in the snapshot of its statement. So it looks again until no range has any of these events.
 */
export async function takeOutOfRanges(
  query: Query,
  { clientId, endpointId }: EndpointKey,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<void> {
  if (query.distributed === true) return;
  const values = [clientId, endpointId, first, last];
  while ((await query(IN_RANGES_SQL, values)).rows.length > 0) await query(TAKE_OUT_SQL, values);
}

const THOSE_RANGES = `r.client_id = $1 and r.endpoint_id = $2 and ${hasAnyOf('$3::bigint', '$4::bigint')}`;

const IN_RANGES_SQL = `select from tiba.callback_outbox_ranges r where ${THOSE_RANGES} limit 1`;

const TAKE_OUT_SQL = `
with taken as (
  delete from tiba.callback_outbox_ranges r where ${THOSE_RANGES}
  returning r.*
), rest as (
  insert into tiba.callback_outbox_ranges (client_id, endpoint_id, first_sequence, last_sequence, due_at)
  select client_id, endpoint_id, first_sequence, $3 - 1, due_at from taken where first_sequence < $3
  union all
  select client_id, endpoint_id, $4 + 1, last_sequence, due_at from taken where last_sequence > $4
)
insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
select client_id, endpoint_id, sequence, due_at
  from taken
 cross join lateral generate_series(greatest(first_sequence, $3), least(last_sequence, $4)) as sequence
 order by sequence`;

export interface ClientSequences {
  readonly clientId: string;
  readonly first: number;
  readonly last: number;
}

/** The same for all endpoints of these clients. */
export async function takeOutOfAllRanges(query: Query, sequences: readonly ClientSequences[]): Promise<void> {
  const { rows } = await query<{ client_id: string; endpoint_id: string; first: string; last: string }>(
    `select e.client_id, e.endpoint_id, k.first, k.last
       from unnest($1::text[], $2::bigint[], $3::bigint[]) as k (client_id, first, last)
       join tiba.callback_endpoints e on e.client_id = k.client_id collate "C" ${ofClient('e')}
      where exists (select from tiba.callback_outbox_ranges r
                     where r.client_id = e.client_id and r.endpoint_id = e.endpoint_id
                       and ${hasAnyOf('k.first', 'k.last')} ${ofClient('r')})
      order by e.client_id, e.endpoint_id`,
    [sequences.map(({ clientId }) => clientId), sequences.map(({ first }) => first), sequences.map(({ last }) => last)],
  );
  for (const row of rows) {
    const key = { clientId: row.client_id, endpointId: row.endpoint_id };
    await takeOutOfRanges(query, key, { first: Number(row.first), last: Number(row.last) });
  }
}
