import { ofClient } from './distributed/one-client.ts';

/**
 * SQL for a part of `from`: in its column `sequence`, where the events of a client from a time on begin. Each event
 * below that sequence occurred before `time`, and each other one at that time or later. There is no row for a client
 * without events.
 *
 * The times of a client's events never go back (`insertEvents`), so no index of times is needed: each step halves the
 * sequences in question by one look-up in the primary key. A million events need about 20 steps, and no client needs
 * more than 64. Sequences may have gaps.
 *
 * `client` and `time` are SQL expressions: a client ID with the collation of the column, and a `timestamptz`. They
 * refer to no table that is called `event`, `oldest`, `newest`, `bounds` or `search`.
 */
export const sequenceFrom = (client: string, time: string): string => `(
  with recursive search (low, high) as (
    select oldest.sequence, newest.sequence + 1
      from ${oneEvent(client, '', 'asc')} oldest cross join ${oneEvent(client, '', 'desc')} newest
    union all
    select case when event.occurred_at < ${time} then event.sequence + 1 else bounds.low end,
           case when event.occurred_at < ${time} then bounds.high else bounds.middle end
      from (select low, high, (low + high) / 2 as middle from search where low < high) bounds
     cross join lateral ${oneEvent(client, 'and event.sequence >= bounds.middle', 'asc')} event
  )
  select low as sequence from search where low >= high)`;

/** SQL: the first or the last event. Its order suits no other index, whatever PostgreSQL knows of the table. */
const oneEvent = (client: string, condition: string, direction: 'asc' | 'desc'): string => `(
      select event.sequence, event.occurred_at from tiba.events event
       where event.client_id = ${client} ${condition} ${ofClient('event')}
       order by event.sequence ${direction} limit 1)`;
