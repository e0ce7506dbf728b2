import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { DeliveryState } from './callback-history.ts';
import type { Database } from './database.ts';
import type { EndpointKey } from './delivery-jobs.ts';

/** What came of one attempt. Times are ISO 8601 UTC. */
export interface RecordedAttempt extends EndpointKey {
  readonly sequence: number;
  readonly attempt: number;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly httpStatus: number | null;
  readonly answer: string | null;
  readonly error: string | null;
  readonly state: DeliveryState;
  readonly endedAt: string;
  /** null unless it stays pending. */
  readonly nextAttemptAt: string | null;
}

/** What the attempts of one batch say of an endpoint. */
export interface EndpointHealth extends EndpointKey {
  /** At least one succeeded: what is known of failures before it no longer counts. */
  readonly succeeded: boolean;
  /** Of the failures after the last success, the first; ISO 8601 UTC. */
  readonly failingSince: string | null;
  /** It is disabled when it has been failing since then, or longer; ISO 8601 UTC. */
  readonly failingTooLongSince: string;
  /** It said that it wants no more. */
  readonly gone: boolean;
  readonly heardAt: string;
}

export interface DisabledEndpoint extends EndpointKey {
  readonly reason: 'gone' | 'failing';
}

/**
 * Writes what came of attempts, and what it means for their endpoints: one statement, everything or nothing. Returns
 * the endpoints that it has disabled.
 *
 * A failure that comes in after the lease has ended, when somebody else is already trying again, is kept and changes
 * nothing; a success is a success whenever it comes in.
 */
export async function recordResults(
  database: Database,
  attempts: readonly RecordedAttempt[],
  news: readonly EndpointHealth[],
): Promise<DisabledEndpoint[]> {
  const given = attempts.map((each) => ({
    client_id: each.clientId,
    endpoint_id: each.endpointId,
    sequence: String(each.sequence),
    attempt: String(each.attempt),
    started_at: each.startedAt,
    duration_ms: String(each.durationMs),
    http_status: each.httpStatus === null ? null : String(each.httpStatus),
    answer: each.answer,
    error: each.error,
    state: each.state,
    ended_at: each.endedAt,
    next_attempt_at: each.nextAttemptAt,
  }));
  const rows = await database.query<NewsRow>(
    RECORD_SQL,
    [
      ...toColumnParameters(COLUMNS, given),
      news.map((each) => each.clientId),
      news.map((each) => each.endpointId),
      news.map((each) => each.succeeded),
      news.map((each) => each.failingSince),
      news.map((each) => each.failingTooLongSince),
      news.map((each) => each.gone),
      news.map((each) => each.heardAt),
    ],
    'record-callback-results',
  );
  return rows.flatMap(({ client_id: clientId, endpoint_id: endpointId, disabled_reason: reason }) =>
    reason === null ? [] : [{ clientId, endpointId, reason }],
  );
}

interface NewsRow extends Record<string, unknown> {
  client_id: string;
  endpoint_id: string;
  disabled_reason: DisabledEndpoint['reason'] | null;
}

const COLUMNS = [
  'client_id',
  'endpoint_id',
  'sequence',
  'attempt',
  'started_at',
  'duration_ms',
  'http_status',
  'answer',
  'error',
  'state',
  'ended_at',
  'next_attempt_at',
] as const;

/** The parameters after those of the attempts. */
const news = (place: number): string => `$${COLUMNS.length + place}`;

// The arrays say what the join says already, in a form that leaves no way but the key: see `claimDeliveries`.
const RECORD_SQL = `
with given as materialized (
  select client_id collate "C" as client_id, endpoint_id collate "C" as endpoint_id, sequence::bigint as sequence,
         attempt::int as attempt, started_at::timestamptz as started_at, duration_ms::int as duration_ms,
         nullif(http_status, '')::int as http_status,
         -- An answer may be empty; only where there was none is it null.
         case when http_status <> '' then coalesce(answer, '') end as answer,
         nullif(error, '') as error, state, ended_at::timestamptz as ended_at,
         nullif(next_attempt_at, '')::timestamptz as next_attempt_at
    from ${tableFromParameters(COLUMNS)}
), kept as (
  insert into tiba.callback_attempts
    (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, answer, error)
  select client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, answer, error from given
  on conflict do nothing
), moved as (
  update tiba.callback_deliveries d
     set state = g.state,
         next_attempt_at = coalesce(g.next_attempt_at, d.next_attempt_at),
         ended_at = case when g.state <> 'pending' then g.ended_at end
    from given g
   where d.client_id = any (array(select client_id from given))
     and d.endpoint_id = any (array(select endpoint_id from given))
     and d.sequence = any (array(select sequence from given))
     and d.client_id = g.client_id and d.endpoint_id = g.endpoint_id and d.sequence = g.sequence
     and ((g.state = 'delivered' and d.state <> 'delivered') or
          -- Of the run that is under way: what was begun before a replay says nothing about it.
          (d.state = 'pending' and d.attempts = g.attempt and g.attempt > d.attempts_before))
), judged as materialized (
  select e.client_id, e.endpoint_id, n.heard_at,
         case when n.succeeded then n.failing_since else coalesce(e.failing_since, n.failing_since) end as failing_since,
         case when n.gone then 'gone'
              when not n.succeeded and e.failing_since <= n.too_long_since then 'failing' end as disabled_reason
    from unnest(${news(1)}::text[], ${news(2)}::text[], ${news(3)}::boolean[], ${news(4)}::timestamptz[],
                ${news(5)}::timestamptz[], ${news(6)}::boolean[], ${news(7)}::timestamptz[])
           as n (client_id, endpoint_id, succeeded, failing_since, too_long_since, gone, heard_at)
    join tiba.callback_endpoints e
      on e.client_id = n.client_id collate "C" and e.endpoint_id = n.endpoint_id collate "C"
   where e.disabled_at is null
)
update tiba.callback_endpoints e
   set failing_since = j.failing_since,
       disabled_at = case when j.disabled_reason is not null then j.heard_at end,
       disabled_reason = j.disabled_reason
  from judged j
 where e.client_id = j.client_id and e.endpoint_id = j.endpoint_id and e.disabled_at is null
   and (e.failing_since is distinct from j.failing_since or j.disabled_reason is not null)
returning e.client_id, e.endpoint_id, e.disabled_reason`;
