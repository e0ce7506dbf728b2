import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { DeliveryState } from './callback-history.ts';
import type { Database } from './database.ts';
import type { EndpointKey } from './delivery-jobs.ts';

/** The result of one attempt. Times are ISO 8601 UTC. */
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
  /** null unless the delivery stays pending. */
  readonly nextAttemptAt: string | null;
}

/** The health of an endpoint according to the attempts of one batch. */
export interface EndpointHealth extends EndpointKey {
  /** At least one attempt succeeded, so earlier failures no longer count. */
  readonly succeeded: boolean;
  /** The first failure after the last success; ISO 8601 UTC. */
  readonly failingSince: string | null;
  /** The endpoint is disabled when it has been failing since this time or longer; ISO 8601 UTC. */
  readonly failingTooLongSince: string;
  /** The receiver answered 410: it wants no more callbacks. */
  readonly gone: boolean;
  /** The end of the last attempt; ISO 8601 UTC. */
  readonly observedAt: string;
}

export interface DisabledEndpoint extends EndpointKey {
  readonly reason: 'gone' | 'failing';
}

/**
 * Records attempts, their deliveries and the health of their endpoints in one atomic statement. Returns the endpoints
 * that it disabled.
 *
 * A failure that is recorded after its lease has ended, when another process is already retrying, is stored and does
 * not change the delivery. A success always does.
 */
export async function recordResults(
  database: Database,
  attempts: readonly RecordedAttempt[],
  endpoints: readonly EndpointHealth[],
): Promise<DisabledEndpoint[]> {
  const attemptRows = attempts.map((each) => ({
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
  const rows = await database.query<EndpointRow>(
    RECORD_SQL,
    [
      ...toColumnParameters(COLUMNS, attemptRows),
      endpoints.map((each) => each.clientId),
      endpoints.map((each) => each.endpointId),
      endpoints.map((each) => each.succeeded),
      endpoints.map((each) => each.failingSince),
      endpoints.map((each) => each.failingTooLongSince),
      endpoints.map((each) => each.gone),
      endpoints.map((each) => each.observedAt),
    ],
    'record-callback-results',
  );
  return rows.flatMap(({ client_id: clientId, endpoint_id: endpointId, disabled_reason: reason }) =>
    reason === null ? [] : [{ clientId, endpointId, reason }],
  );
}

interface EndpointRow extends Record<string, unknown> {
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

/** A parameter after those of the attempts; `position` is from 1. */
const endpointParameter = (position: number): string => `$${COLUMNS.length + position}`;

// The arrays repeat the join condition in a form that can only be executed as a look-up by key: see `claimDeliveries`.
const RECORD_SQL = `
with input as materialized (
  select client_id collate "C" as client_id, endpoint_id collate "C" as endpoint_id, sequence::bigint as sequence,
         attempt::int as attempt, started_at::timestamptz as started_at, duration_ms::int as duration_ms,
         nullif(http_status, '')::int as http_status,
         -- The body of a response may be empty; the answer is null only when there was no response.
         case when http_status <> '' then coalesce(answer, '') end as answer,
         nullif(error, '') as error, state, ended_at::timestamptz as ended_at,
         nullif(next_attempt_at, '')::timestamptz as next_attempt_at
    from ${tableFromParameters(COLUMNS)}
), inserted_attempts as (
  insert into tiba.callback_attempts
    (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, answer, error)
  select client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, answer, error from input
  on conflict do nothing
), updated_deliveries as (
  update tiba.callback_deliveries d
     set state = i.state,
         next_attempt_at = coalesce(i.next_attempt_at, d.next_attempt_at),
         ended_at = case when i.state <> 'pending' then i.ended_at end
    from input i
   where d.client_id = any (array(select client_id from input))
     and d.endpoint_id = any (array(select endpoint_id from input))
     and d.sequence = any (array(select sequence from input))
     and d.client_id = i.client_id and d.endpoint_id = i.endpoint_id and d.sequence = i.sequence
     and ((i.state = 'delivered' and d.state <> 'delivered') or
          -- Only for an attempt of the current run: one that started before a replay does not count for it.
          (d.state = 'pending' and d.attempts = i.attempt and i.attempt > d.attempts_before))
), evaluated as materialized (
  select e.client_id, e.endpoint_id, n.observed_at,
         case when n.succeeded then n.failing_since
              else coalesce(e.failing_since, n.failing_since) end as failing_since,
         case when n.gone then 'gone'
              when not n.succeeded and e.failing_since <= n.too_long_since then 'failing' end as disabled_reason
    from unnest(${endpointParameter(1)}::text[], ${endpointParameter(2)}::text[], ${endpointParameter(3)}::boolean[],
                ${endpointParameter(4)}::timestamptz[], ${endpointParameter(5)}::timestamptz[],
                ${endpointParameter(6)}::boolean[], ${endpointParameter(7)}::timestamptz[])
           as n (client_id, endpoint_id, succeeded, failing_since, too_long_since, gone, observed_at)
    join tiba.callback_endpoints e
      on e.client_id = n.client_id collate "C" and e.endpoint_id = n.endpoint_id collate "C"
   where e.disabled_at is null
)
update tiba.callback_endpoints e
   set failing_since = h.failing_since,
       disabled_at = case when h.disabled_reason is not null then h.observed_at end,
       disabled_reason = h.disabled_reason
  from evaluated h
 where e.client_id = h.client_id and e.endpoint_id = h.endpoint_id and e.disabled_at is null
   and (e.failing_since is distinct from h.failing_since or h.disabled_reason is not null)
returning e.client_id, e.endpoint_id, e.disabled_reason`;
