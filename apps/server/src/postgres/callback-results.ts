import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { DeliveryState } from './callback-history.ts';
import type { Database } from './database.ts';
import { byClient, ofClient } from './distributed/one-client.ts';
import type { EndpointKey } from './due-endpoints.ts';

/**
 * The result of one attempt. Its times reach PostgreSQL as durations, and become times of PostgreSQL's clock there: the
 * clock of a process may be wrong.
 */
export interface RecordedAttempt extends EndpointKey {
  /** Where it was sent: the result says something about the endpoint only while this is its URL. */
  readonly url: string;
  readonly sequence: number;
  readonly attempt: number;
  /** The end, on this process's monotonic clock (`performance.now()`). */
  readonly endedMs: number;
  readonly durationMs: number;
  readonly httpStatus: number | null;
  readonly answer: string | null;
  readonly error: string | null;
  readonly state: DeliveryState;
  /** From the end of this attempt to the next one; null unless the delivery stays pending. */
  readonly delayMs: number | null;
}

/**
 * The health of an endpoint according to the attempts of one batch to this URL. It does not count once the endpoint has
 * another one: the former receiver may have answered 410. Points in time as in `RecordedAttempt.endedMs`.
 */
export interface EndpointHealth extends EndpointKey {
  readonly url: string;
  /** At least one attempt succeeded, so earlier failures no longer count. */
  readonly succeeded: boolean;
  /** The first failure after the last success. */
  readonly firstFailureMs: number | null;
  /** The receiver answered 410: it wants no more callbacks. */
  readonly gone: boolean;
  /** The end of the last attempt. */
  readonly lastEndedMs: number;
}

/** An endpoint is disabled when no delivery has succeeded for this long. */
const FAILING_MAX = "interval '5 days'";

/** Why Tiba disables an endpoint by itself. */
export const RECEIVER_REASONS = ['gone', 'failing'] as const;

export interface DisabledEndpoint extends EndpointKey {
  readonly reason: (typeof RECEIVER_REASONS)[number];
}

/**
 * Records attempts, their deliveries and the health of their endpoints: all of a client, or nothing. Returns the
 * endpoints that it disabled.
 *
 * A failure that is recorded after its lease has ended, when another process is already retrying, is stored and does
 * not change the delivery: it is no step of the retry schedule (callback-deliveries.ts). A success always does.
 */
export async function recordResults(
  database: Database,
  attempts: readonly RecordedAttempt[],
  endpoints: readonly EndpointHealth[],
): Promise<DisabledEndpoint[]> {
  const disabled: DisabledEndpoint[] = [];
  await byClient(database, attempts, async (own, ofClients) => {
    const clientIds = new Set(ofClients.map(({ clientId }) => clientId));
    const health = own === database ? endpoints : endpoints.filter(({ clientId }) => clientIds.has(clientId));
    disabled.push(...(await record(own, ofClients, health)));
  });
  return disabled;
}

async function record(
  database: Database,
  attempts: readonly RecordedAttempt[],
  endpoints: readonly EndpointHealth[],
): Promise<DisabledEndpoint[]> {
  const nowMs = performance.now();
  const attemptRows = attempts.map((each) => ({
    client_id: each.clientId,
    endpoint_id: each.endpointId,
    sequence: String(each.sequence),
    attempt: String(each.attempt),
    ended_ms_ago: String(nowMs - each.endedMs),
    duration_ms: String(each.durationMs),
    http_status: each.httpStatus === null ? null : String(each.httpStatus),
    answer: each.answer,
    error: each.error,
    state: each.state,
    delay_ms: each.delayMs === null ? null : String(each.delayMs),
  }));
  const attemptParameters = toColumnParameters(COLUMNS, attemptRows);
  const endpointParameters = [
    endpoints.map((each) => each.clientId),
    endpoints.map((each) => each.endpointId),
    endpoints.map((each) => each.succeeded),
    endpoints.map((each) => (each.firstFailureMs === null ? null : nowMs - each.firstFailureMs)),
    endpoints.map((each) => each.gone),
    endpoints.map((each) => nowMs - each.lastEndedMs),
    endpoints.map((each) => each.url),
  ];
  const rows = database.distributed
    ? await recordInSteps(database, attemptParameters, endpointParameters)
    : await database.query<EndpointRow>(
        RECORD_SQL,
        [...attemptParameters, ...endpointParameters],
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
  'ended_ms_ago',
  'duration_ms',
  'http_status',
  'answer',
  'error',
  'state',
  'delay_ms',
] as const;

/** SQL for a time of PostgreSQL's clock, from a number of milliseconds. */
const millisecondsAgo = (milliseconds: string): string => `now() - ${milliseconds} * interval '1 millisecond'`;

/** SQL: the delivery `d` is the one that the input `i` is about. */
const SAME_DELIVERY = `d.client_id = any (array(select client_id from input))
     and d.endpoint_id = any (array(select endpoint_id from input))
     and d.sequence = any (array(select sequence from input))
     and d.client_id = i.client_id and d.endpoint_id = i.endpoint_id and d.sequence = i.sequence ${ofClient('d')}`;

const INPUT = `
input as materialized (
  select client_id collate "C" as client_id, endpoint_id collate "C" as endpoint_id, sequence::bigint as sequence,
         attempt::int as attempt, duration_ms::int as duration_ms,
         ${millisecondsAgo('ended_ms_ago::float8')} as ended_at,
         ${millisecondsAgo('ended_ms_ago::float8')} + nullif(delay_ms, '')::float8 * interval '1 millisecond'
           as next_attempt_at,
         nullif(http_status, '')::smallint as http_status,
         -- The body of a response may be empty; the answer is null only when there was no response.
         case when http_status <> '' then coalesce(answer, '') end as answer,
         nullif(error, '') as error, state
    from ${tableFromParameters(COLUMNS)}
)`;

// The arrays repeat the join condition in a form that can only be executed as a look-up by key: see `claimDeliveries`.
const DELETE_DELIVERED = `
  delete from tiba.callback_outbox d using input i where ${SAME_DELIVERY} and i.state = 'delivered'
  returning d.client_id, d.endpoint_id, d.sequence, d.attempts`;

/** `delivered`: what `DELETE_DELIVERED` returned. */
const insertAttempts = (delivered: string): string => `
  insert into tiba.callback_attempts
    (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status, answer, error, attempts_begun)
  select client_id, endpoint_id, sequence, attempt, ended_at - duration_ms * interval '1 millisecond', duration_ms,
         http_status, answer, error,
         -- A later attempt is in flight, and its number must not be used again.
         case when delivered.attempts > attempt then delivered.attempts end
    from input left join ${delivered} using (client_id, endpoint_id, sequence)
  on conflict do nothing`;

const UPDATE_FAILED = `
  update tiba.callback_outbox d
     set state = i.state,
         next_attempt_at = coalesce(i.next_attempt_at, d.next_attempt_at),
         claimed_until = null,
         ended_at = case when i.state <> 'pending' then i.ended_at end
    from input i
   where ${SAME_DELIVERY} and i.state <> 'delivered'
     -- Only for an attempt of the current run: one that started before a replay does not count for it.
     -- It is pending then. With \`state\`, PostgreSQL could read the index of all that is due instead of the key.
     and d.ended_at is null and d.attempts = i.attempt and i.attempt > d.attempts_before`;

/** `from`: how many parameters come before those of the endpoints. */
const evaluated = (from: number): string => `
evaluated as materialized (
  select e.client_id, e.endpoint_id, e.url, n.last_ended_at,
         case when n.succeeded then n.failing_since
              else coalesce(e.failing_since, n.failing_since) end as failing_since,
         case when n.gone then 'gone'
              when not n.succeeded and e.failing_since <= n.last_ended_at - ${FAILING_MAX} then 'failing'
         end as disabled_reason
    from (select client_id, endpoint_id, url, succeeded, gone,
                 ${millisecondsAgo('first_failure_ms_ago')} as failing_since,
                 ${millisecondsAgo('last_ended_ms_ago')} as last_ended_at
            from unnest($${from + 1}::text[], $${from + 2}::text[], $${from + 3}::boolean[], $${from + 4}::float8[],
                        $${from + 5}::boolean[], $${from + 6}::float8[], $${from + 7}::text[])
                   as parameters (client_id, endpoint_id, succeeded, first_failure_ms_ago, gone, last_ended_ms_ago,
                                  url)) n
    join tiba.callback_endpoints e
      on e.client_id = n.client_id collate "C" and e.endpoint_id = n.endpoint_id collate "C" ${ofClient('e')}
   where e.disabled_at is null and e.url = n.url
)`;

// The URL is compared once more: a change of it may be committed while the update waits for the row.
const UPDATE_ENDPOINTS = `
update tiba.callback_endpoints e
   set failing_since = h.failing_since,
       disabled_at = case when h.disabled_reason is not null then h.last_ended_at end,
       disabled_reason = h.disabled_reason
  from evaluated h
 where e.client_id = h.client_id and e.endpoint_id = h.endpoint_id and e.url = h.url and e.disabled_at is null
   ${ofClient('e')}
   and (e.failing_since is distinct from h.failing_since or h.disabled_reason is not null)
returning e.client_id, e.endpoint_id, e.disabled_reason`;

const RECORD_SQL = `
with ${INPUT}, delivered as (${DELETE_DELIVERED}
), inserted_attempts as (${insertAttempts('delivered')}
), failed as (${UPDATE_FAILED}
), ${evaluated(COLUMNS.length)}${UPDATE_ENDPOINTS}`;

const DELIVERED_PARAMETERS = `unnest($${COLUMNS.length + 1}::text[], $${COLUMNS.length + 2}::text[],
              $${COLUMNS.length + 3}::bigint[], $${COLUMNS.length + 4}::int[])
                as delivered (client_id, endpoint_id, sequence, attempts)`;

/**
 * A distributed PostgreSQL sends parts of a statement with an insert to all nodes. In statements of their own, the
 * results of a client are stored while other nodes are away.
 */
const recordInSteps = (
  database: Database,
  attempts: readonly unknown[],
  endpoints: readonly unknown[],
): Promise<EndpointRow[]> =>
  database.transaction(async (query) => {
    // First, as in the one statement: replays and changes of an endpoint lock it before its deliveries.
    const { rows } = await query<EndpointRow>(`with ${evaluated(0)} ${UPDATE_ENDPOINTS}`, endpoints);
    const { rows: delivered } = await query<DeliveredRow>(`with ${INPUT} ${DELETE_DELIVERED}`, attempts);
    await query(`with ${INPUT} ${insertAttempts(DELIVERED_PARAMETERS)}`, [
      ...attempts,
      delivered.map((each) => each.client_id),
      delivered.map((each) => each.endpoint_id),
      delivered.map((each) => each.sequence),
      delivered.map((each) => each.attempts),
    ]);
    await query(`with ${INPUT} ${UPDATE_FAILED}`, attempts);
    return rows;
  });

interface DeliveredRow extends Record<string, unknown> {
  client_id: string;
  endpoint_id: string;
  sequence: string;
  attempts: number;
}
