import type { EventKind } from '../domain/event.ts';
import type { SealedEndpoint } from './callback-endpoints.ts';
import type { Database } from './database.ts';
import { databaseOfClient, ofClient, queryOverClients } from './distributed/one-client.ts';
import type { EndpointKey } from './due-endpoints.ts';
import { EVENT_DATA } from './events.ts';
import { eventDataJson } from './rendered-transactions.ts';

/** A delivery that only this process may send until the lease ends. */
export interface ClaimedDelivery {
  readonly sequence: number;
  /** From 1; a replay does not reset it. */
  readonly attempt: number;
  /** The position in the retry schedule, from 1: a replay resets it, and attempts without a result do not count. */
  readonly attemptOfSchedule: number;
  readonly subjectId: string;
  readonly version: number;
  readonly kind: EventKind;
  /** ISO 8601 UTC. */
  readonly occurredAt: string;
  /** The subject as the API showed it at that time, JSON text. */
  readonly data: string;
  /** As of the claim. */
  readonly endpoint: EndpointKey & SealedEndpoint;
}

export interface ClaimOptions {
  readonly limit: number;
  readonly leaseMs: number;
}

/**
 * Claims up to `limit` due deliveries of an enabled endpoint, in the order in which they are due, and marks each as
 * claimed for the lease. If this process dies, another sends them again after the lease. Rows that another process is
 * claiming are skipped, without waiting for them.
 *
 * Only PostgreSQL's clock decides what is due, here and in callback-results.ts: with the clocks of processes, one that
 * is ahead would send the deliveries of others a second time, and postpone its own retries by as much as it is ahead.
 */
export async function claimDeliveries(
  database: Database,
  key: EndpointKey,
  { limit, leaseMs }: ClaimOptions,
): Promise<ClaimedDelivery[]> {
  const deliveries: ClaimedDelivery[] = [];
  for (let mayBeMore = true; mayBeMore && deliveries.length < limit; ) {
    const options = { limit: limit - deliveries.length, leaseMs };
    try {
      const claimed = await claimOnce(database, key, options);
      deliveries.push(...claimed.deliveries);
      ({ mayBeMore } = claimed);
    } catch (error) {
      if (deliveries.length === 0) throw error;
      // The next claim fails as well, and says why. What is claimed already is sent.
      break;
    }
  }
  return deliveries;
}

async function claimOnce(
  database: Database,
  { clientId, endpointId }: EndpointKey,
  { limit, leaseMs }: ClaimOptions,
): Promise<{ readonly deliveries: ClaimedDelivery[]; readonly mayBeMore: boolean }> {
  const ofClient = databaseOfClient(database, clientId);
  const sql = database.distributed ? CLAIM_DISTRIBUTED_SQL : CLAIM_SQL;
  const rows = await ofClient.query<ClaimRow>(sql, [clientId, endpointId, limit, leaseMs], 'claim-deliveries');
  const [first] = rows;
  if (first === undefined) return { deliveries: [], mayBeMore: false };
  const endpoint = {
    clientId,
    endpointId,
    url: first.url,
    secretSealed: first.secret_sealed,
    formerSecretSealed: first.former_secret_sealed,
    formerSecretUntil: first.former_secret_until,
  };
  const deliveries = rows.map((row) => ({
    sequence: Number(row.sequence),
    attempt: row.attempts,
    attemptOfSchedule: row.attempts - row.attempts_before,
    subjectId: row.subject_id,
    version: row.version,
    kind: row.kind,
    occurredAt: row.occurred_at.toISOString(),
    data: eventDataJson(row.data, row.subject_id),
    endpoint,
  }));
  return { deliveries, mayBeMore: first.ranges === RANGES_MAX };
}

/**
 * Ranges that one statement locks at most: other processes claim from later ones meanwhile. Most have many events. Of
 * those with one, a claim needs several statements.
 */
const RANGES_MAX = 16;

// A disabled client is sent nothing; its deliveries stay pending.
const IS_ENABLED = `exists (select from tiba.callback_endpoints e
                  where e.client_id = $1 and e.endpoint_id = $2 and e.disabled_at is null)
     and exists (select from tiba.clients c where c.client_id = $1 and c.disabled_at is null)`;

// A prepared statement keeps the plan that was made while the tables were small, when every plan looks equally good. So
// each statement below allows only one plan: the arrays and the lateral joins can only be executed as look-ups by key.

/** SQL: those that have a row of their own, and are due. */
const DUE = `
  select d.sequence, d.next_attempt_at as due_at, null::bigint as last_of_range
    from tiba.callback_outbox d
   where d.client_id = $1 and d.endpoint_id = $2 and d.state = 'pending' and d.next_attempt_at <= now()
     and (d.claimed_until is null or d.claimed_until <= now())
     and ${IS_ENABLED}
   order by d.next_attempt_at, d.sequence
   limit $3
     for update of d skip locked`;

const LEASE_END = `now() + $4 * interval '1 millisecond'`;

const CLAIM_DUE = `
  update tiba.callback_outbox d
     set attempts = d.attempts + 1, claimed_until = ${LEASE_END},
         -- A recorded result clears claimed_until. So this claim's predecessor has none, for example because its
         -- process was killed: it uses up no step of the retry schedule, because nothing says that a receiver failed.
         attempts_before = d.attempts_before + (d.claimed_until is not null)::int
   where d.client_id = $1 and d.endpoint_id = $2
     and d.sequence = any (array(select sequence from due where last_of_range is null))
  returning d.sequence, d.attempts, d.attempts_before`;

/** SQL: the claimed deliveries with what is sent. `ranges`: how many ranges were locked. */
const selectClaimed = (ranges: string): string => `
select ${ranges} as ranges, c.sequence, c.attempts, c.attempts_before, v.subject_id, v.version, v.kind,
       v.occurred_at, ${EVENT_DATA} as data, e.url, e.secret_sealed, e.former_secret_sealed, e.former_secret_until
  from claimed c
 cross join lateral (select * from tiba.events v where v.client_id = $1 and v.sequence = c.sequence offset 0) v
 cross join lateral (select * from tiba.callback_endpoints e where e.client_id = $1 and e.endpoint_id = $2 offset 0) e
 order by c.sequence`;

const CLAIM_DISTRIBUTED_SQL = `
with due as materialized (${DUE}
), claimed as (${CLAIM_DUE}
)${selectClaimed('0')}`;

// Those of a range are due in the order of the events, so a claim takes the first ones.
const CLAIM_SQL = `
with own as materialized (${DUE}
), ranges as materialized (
  select r.first_sequence, r.last_sequence, r.due_at
    from tiba.callback_outbox_ranges r
   where r.client_id = $1 and r.endpoint_id = $2 and ${IS_ENABLED}
   order by r.last_sequence
   limit ${RANGES_MAX}
     for update of r skip locked
), due as materialized (
  select * from own
  union all
  select sequence, due_at, last_sequence
    from ranges
   cross join lateral generate_series(first_sequence, least(last_sequence, first_sequence + $3 - 1)) as sequence
   order by due_at, sequence
   limit $3
), moved as materialized (
  select last_of_range, max(sequence) as last_moved from due where last_of_range is not null group by last_of_range
), shortened as (
  update tiba.callback_outbox_ranges r set first_sequence = m.last_moved + 1
    from moved m
   where r.client_id = $1 and r.endpoint_id = $2 and r.last_sequence = any (array(select last_of_range from moved))
     and r.last_sequence = m.last_of_range and m.last_moved < m.last_of_range
), emptied as (
  delete from tiba.callback_outbox_ranges r
   where r.client_id = $1 and r.endpoint_id = $2
     and r.last_sequence = any (array(select last_of_range from moved where last_moved = last_of_range))
), updated as (${CLAIM_DUE}
), inserted as (
  insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at, claimed_until, attempts)
  select $1, $2, sequence, due_at, ${LEASE_END}, 1 from due where last_of_range is not null
  returning sequence, attempts, attempts_before
), claimed as (
  select * from updated union all select * from inserted
)${selectClaimed('(select count(*)::int from ranges)')}`;

interface ClaimRow extends Record<string, unknown> {
  ranges: number;
  sequence: string;
  attempts: number;
  attempts_before: number;
  subject_id: string;
  version: number;
  kind: EventKind;
  occurred_at: Date;
  data: string | null;
  url: string;
  secret_sealed: Buffer;
  former_secret_sealed: Buffer | null;
  former_secret_until: Date | null;
}

/**
 * The endpoints with due deliveries, of all clients. The recursion steps from endpoint to endpoint through the index,
 * so the cost depends on the number of endpoints with pending deliveries, not on the number of deliveries. It may name
 * an endpoint whose due deliveries are all claimed: there are as many as attempts in flight.
 */
export async function findDueEndpoints(database: Database): Promise<EndpointKey[]> {
  const rows = database.distributed
    ? await queryOverClients<DueEndpointRow>(database, FIND_DUE_DISTRIBUTED_SQL)
    : await database.query<DueEndpointRow>(FIND_DUE_SQL, [], 'find-due-endpoints');
  return rows.map((row) => ({ clientId: row.client_id, endpointId: row.endpoint_id }));
}

interface DueEndpointRow extends Record<string, unknown> {
  client_id: string;
  endpoint_id: string;
}

// Those in ranges are all due.
const FIND_DUE_SQL = `
with recursive earliest as (
  (select client_id, endpoint_id, next_attempt_at
     from tiba.callback_outbox
    where state = 'pending'
    order by client_id, endpoint_id, next_attempt_at
    limit 1)
  union all
  select next.*
    from earliest
   cross join lateral (
     select d.client_id, d.endpoint_id, d.next_attempt_at
       from tiba.callback_outbox d
      where d.state = 'pending' and (d.client_id, d.endpoint_id) > (earliest.client_id, earliest.endpoint_id)
      order by d.client_id, d.endpoint_id, d.next_attempt_at
      limit 1) next
), ranges as (
  (select client_id, endpoint_id from tiba.callback_outbox_ranges order by client_id, endpoint_id limit 1)
  union all
  select next.*
    from ranges
   cross join lateral (
     select r.client_id, r.endpoint_id
       from tiba.callback_outbox_ranges r
      where (r.client_id, r.endpoint_id) > (ranges.client_id, ranges.endpoint_id)
      order by r.client_id, r.endpoint_id
      limit 1) next
)
select client_id, endpoint_id
  from (select client_id, endpoint_id from earliest where next_attempt_at <= now()
        union
        select client_id, endpoint_id from ranges) due
  join tiba.callback_endpoints e using (client_id, endpoint_id)
  join tiba.clients c using (client_id)
 where e.disabled_at is null and c.disabled_at is null`;

/** Each node looks at its own endpoints. A recursion would have to go from node to node. */
const FIND_DUE_DISTRIBUTED_SQL = `
select e.client_id, e.endpoint_id
  from tiba.callback_endpoints e
  join tiba.clients c on c.client_id = e.client_id
 where e.disabled_at is null and c.disabled_at is null ${ofClient('e')}
   and exists (select from tiba.callback_outbox d
                where d.client_id = e.client_id and d.endpoint_id = e.endpoint_id and d.state = 'pending'
                  and d.next_attempt_at <= now() ${ofClient('d')})`;
