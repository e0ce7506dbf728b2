import type { Database, Query } from './database.ts';
import { type EventRange, type ReplayedState, replayRangeIn } from './delivery-replays.ts';

/** Replays of many callbacks, which operators order. */

export const REPLAY_STATES = ['RUNNING', 'COMPLETED', 'CANCELLED'] as const;
export type ReplayState = (typeof REPLAY_STATES)[number];

/**
 * How a replay ended at one endpoint. `disabled` and `removed`: the endpoint was. Only a person with access to the
 * database removes one.
 */
export const ENDPOINT_OUTCOMES = ['completed', 'disabled', 'removed'] as const;
export type EndpointOutcome = (typeof ENDPOINT_OUTCOMES)[number];

export interface ReplayKey {
  readonly replayId: string;
  readonly clientId: string;
}

/** A replay. Times are ISO 8601 UTC. */
export interface RangeReplay extends ReplayKey {
  readonly events: EventRange;
  readonly deliveryState: ReplayedState | null;
  readonly state: ReplayState;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly endpoints: readonly EndpointProgress[];
}

export interface EndpointProgress {
  readonly endpointId: string;
  /** null until it ends. */
  readonly outcome: EndpointOutcome | null;
  readonly examined: number;
  readonly replayed: number;
  /** How much of the range was examined: from 0 to 1. */
  readonly progress: number;
}

export interface NewRangeReplay extends ReplayKey, Pick<RangeReplay, 'events' | 'deliveryState' | 'createdBy'> {
  readonly endpointIds: readonly string[];
  readonly idempotencyKey: string;
  readonly requestSha256: Buffer;
}

/** False when the key was used before. The range ends now at the latest: later events are sent anyway. */
export async function insertRangeReplay(inside: Database, replay: NewRangeReplay): Promise<boolean> {
  const { clientId, replayId, events } = replay;
  const inserted = await inside.query(
    `insert into tiba.callback_replays
       (client_id, replay_id, from_time, to_time, first_sequence, last_sequence, delivery_state, idempotency_key,
        request_sha256, created_by)
     -- least() leaves null out.
     values ($1, $2, $3, case when $4::timestamptz is not null then least($4::timestamptz, now()) end, $5, $6, $7, $8,
             $9, $10)
     on conflict (client_id, idempotency_key) do nothing
     returning replay_id`,
    [
      clientId,
      replayId,
      ...(events.by === 'time' ? [events.from, events.to, null, null] : [null, null, events.first, events.last]),
      replay.deliveryState,
      replay.idempotencyKey,
      replay.requestSha256,
      replay.createdBy,
    ],
  );
  if (inserted.length === 0) return false;
  await inside.query(
    `insert into tiba.callback_replay_endpoints (client_id, replay_id, endpoint_id)
     select $1, $2, endpoint_id from unnest($3::text[]) as endpoint_id`,
    [clientId, replayId, replay.endpointIds],
  );
  return true;
}

export async function findReplayByKey(
  database: Database,
  clientId: string,
  idempotencyKey: string,
): Promise<{ readonly replay: RangeReplay; readonly requestSha256: Buffer } | null> {
  const [row] = await database.query<ReplayRow>(`${SELECT_REPLAYS} where r.client_id = $1 and r.idempotency_key = $2`, [
    clientId,
    idempotencyKey,
  ]);
  return row === undefined ? null : { replay: toReplay(row), requestSha256: row.request_sha256 };
}

export async function findRangeReplay(database: Database, replayId: string): Promise<RangeReplay | null> {
  const [row] = await database.query<ReplayRow>(`${SELECT_REPLAYS} where r.replay_id = $1`, [replayId]);
  return row === undefined ? null : toReplay(row);
}

/** The latest first. */
export async function listRangeReplays(
  database: Database,
  { clientId, state }: { readonly clientId: string | null; readonly state: ReplayState | null },
  limit: number,
): Promise<RangeReplay[]> {
  const rows = await database.query<ReplayRow>(
    `${SELECT_REPLAYS}
      where ($1::text is null or r.client_id = $1) and ($2::text is null or r.state = $2)
      order by r.created_at desc, r.replay_id desc limit $3`,
    [clientId, state, limit],
  );
  return rows.map(toReplay);
}

/** Ends a replay; its endpoints stop within a batch. Returns the state that it had; null when there is none. */
export async function cancelRangeReplay(
  inside: Database,
  { replayId, clientId }: ReplayKey,
): Promise<ReplayState | null> {
  const [row] = await inside.query<{ state: ReplayState }>(
    'select state from tiba.callback_replays where replay_id = $1 and client_id = $2 for update',
    [replayId, clientId],
  );
  if (row?.state === 'RUNNING') {
    await inside.query(
      `update tiba.callback_replays set state = 'CANCELLED', ended_at = now() where replay_id = $1 and client_id = $2`,
      [replayId, clientId],
    );
  }
  return row?.state ?? null;
}

/** Ends the replays that have ended at all of their endpoints. Returns whether others are running. */
export async function completeReplays(database: Database): Promise<boolean> {
  const [row] = await database.query<{ running: boolean }>(COMPLETE_SQL, [], 'complete-replays');
  return row?.running === true;
}

const COMPLETE_SQL = `
with completed as (
  update tiba.callback_replays r set state = 'COMPLETED', ended_at = now()
   where state = 'RUNNING'
     and not exists (select from tiba.callback_replay_endpoints e
                      where e.replay_id = r.replay_id and e.client_id = r.client_id and e.outcome is null)
  returning 1
)
select (select count(*) from tiba.callback_replays where state = 'RUNNING') > (select count(*) from completed)
         as running`;

/** One endpoint of a replay. */
export interface EndpointReplay extends ReplayKey {
  readonly endpointId: string;
}

/** Endpoints at which replays are not done, in the order of the key. */
export function listOpenReplays(
  database: Database,
  after: EndpointReplay | null,
  limit: number,
): Promise<EndpointReplay[]> {
  return database.query<EndpointReplay & Record<string, unknown>>(
    `select e.replay_id as "replayId", e.client_id as "clientId", e.endpoint_id as "endpointId"
       from tiba.callback_replays r join tiba.callback_replay_endpoints e using (replay_id, client_id)
      where r.state = 'RUNNING' and e.outcome is null
        and (e.replay_id, e.client_id, e.endpoint_id) > ($1, $2, $3)
      order by e.replay_id, e.client_id, e.endpoint_id limit $4`,
    [after?.replayId ?? '', after?.clientId ?? '', after?.endpointId ?? '', limit],
  );
}

export interface ReplayStep {
  /**
   * With this many due deliveries of the endpoint, the replay waits. Those that wait for a later attempt do not count:
   * the replay may be there to send them now.
   */
  readonly dueMax: number;
  readonly eventsMax: number;
  readonly callbackDays: number;
}

/**
 * Makes the next deliveries of a replay pending, and its position grow, in one database transaction.
 *
 * - `waiting`: the endpoint has too many due deliveries.
 * - `ended`: nothing is left to do, or another process is doing it.
 */
export function advanceReplay(
  database: Database,
  key: EndpointReplay,
  { dueMax, eventsMax, callbackDays }: ReplayStep,
): Promise<'advanced' | 'waiting' | 'ended'> {
  const { replayId, clientId, endpointId } = key;
  return database.transaction(async (query) => {
    const { rows } = await query<ReplayRow & { after_sequence: string | null }>(
      `select r.*, e.after_sequence
         from tiba.callback_replay_endpoints e join tiba.callback_replays r using (replay_id, client_id)
        where e.replay_id = $1 and e.client_id = $2 and r.client_id = $2 and e.endpoint_id = $3
          and e.outcome is null and r.state = 'RUNNING'
          for update of e skip locked`,
      [replayId, clientId, endpointId],
    );
    const [row] = rows;
    if (row === undefined) return 'ended';
    if ((await countDue(query, key, dueMax)) >= dueMax) return 'waiting';
    const result = await replayRangeIn(
      query,
      { clientId, endpointId },
      {
        events: eventsOf(row),
        state: row.delivery_state,
        callbackDays,
        after: row.after_sequence === null ? null : Number(row.after_sequence),
        limit: eventsMax,
      },
    );
    const isReplayed = result.outcome === 'replayed';
    const after = isReplayed ? result.nextAfter : null;
    const outcome = isReplayed ? (after === null ? 'completed' : null) : OUTCOMES[result.outcome];
    await query(
      `update tiba.callback_replay_endpoints
          set after_sequence = coalesce($4, after_sequence), progress = coalesce($8, progress),
              examined = examined + $5, replayed = replayed + $6, outcome = $7
        where replay_id = $1 and client_id = $2 and endpoint_id = $3`,
      [
        replayId,
        clientId,
        endpointId,
        after,
        isReplayed ? result.examined : 0,
        isReplayed ? result.count : 0,
        outcome,
        outcome === 'completed' ? 1 : isReplayed ? result.progress : null,
      ],
    );
    return outcome === null ? 'advanced' : 'ended';
  });
}

/** The due deliveries of an endpoint, those that are being sent among them. Counts up to `max`. */
async function countDue(query: Query, { clientId, endpointId }: EndpointReplay, max: number): Promise<number> {
  // In the order of the index of what is due: by the key, all deliveries that wait for a later attempt would be read.
  const { rows } = await query<{ count: number }>(
    `select count(*)::int as count
       from ((select from tiba.callback_outbox
               where client_id = $1 and endpoint_id = $2 and state = 'pending' and next_attempt_at <= now()
               order by next_attempt_at limit $3)
             union all
             (select from tiba.callback_outbox_ranges r
               cross join lateral generate_series(r.first_sequence, r.last_sequence)
               where r.client_id = $1 and r.endpoint_id = $2 limit $3)) as due`,
    [clientId, endpointId, max],
  );
  return Math.min(rows[0]?.count ?? 0, max);
}

/** How a replay ends that cannot go on. */
const OUTCOMES = {
  disabled: 'disabled',
  not_found: 'removed',
  // Of the whole range nothing says which events are missing.
  too_old: 'completed',
} as const satisfies Record<string, EndpointOutcome>;

/** Deletes at most `limit` replays that ended before then. Returns how many. */
export async function deleteRangeReplays(database: Database, before: Date, limit: number): Promise<number> {
  const rows = await database.query(
    `delete from tiba.callback_replays r
      using (select replay_id, client_id from tiba.callback_replays
              where created_at < $1 and ended_at < $1 order by created_at, replay_id limit $2) as old
      where r.replay_id = old.replay_id and r.client_id = old.client_id
     returning 1`,
    [before, limit],
  );
  return rows.length;
}

interface ReplayRow extends Record<string, unknown> {
  replay_id: string;
  client_id: string;
  from_time: Date | null;
  to_time: Date | null;
  first_sequence: string | null;
  last_sequence: string | null;
  delivery_state: ReplayedState | null;
  state: ReplayState;
  request_sha256: Buffer;
  created_by: string;
  created_at: Date;
  ended_at: Date | null;
  endpoints: EndpointProgress[];
}

const SELECT_REPLAYS = `
select r.*, p.endpoints
  from tiba.callback_replays r
 cross join lateral (
   select json_agg(json_build_object(
            'endpointId', e.endpoint_id, 'outcome', e.outcome, 'examined', e.examined, 'replayed', e.replayed,
            'progress', e.progress)
          order by e.endpoint_id) as endpoints
     from tiba.callback_replay_endpoints e
    where e.replay_id = r.replay_id and e.client_id = r.client_id) p`;

const eventsOf = ({
  from_time: from,
  to_time: to,
  first_sequence: first,
  last_sequence: last,
}: ReplayRow): EventRange =>
  from === null || to === null
    ? { by: 'sequence', first: Number(first), last: Number(last) }
    : { by: 'time', from: from.toISOString(), to: to.toISOString() };

const toReplay = (row: ReplayRow): RangeReplay => ({
  replayId: row.replay_id,
  clientId: row.client_id,
  events: eventsOf(row),
  deliveryState: row.delivery_state,
  state: row.state,
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  endedAt: row.ended_at?.toISOString() ?? null,
  endpoints: row.endpoints,
});
