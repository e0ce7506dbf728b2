import { type Database, DatabaseContended, type Query } from './database.ts';
import { databaseOfClient } from './distributed/one-client.ts';
import { type EndpointKey, notifyDue } from './due-endpoints.ts';
import { noteEndpointChange } from './events.ts';

/**
 * Who or what disabled an endpoint: its client, the operator, its receiver by answering 410, or failures over a long
 * time.
 */
export const DISABLED_REASONS = ['client', 'operator', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** An endpoint without its secrets. Times are ISO 8601 UTC. */
export interface CallbackEndpoint extends EndpointKey {
  readonly url: string;
  readonly kinds: readonly string[];
  /** The first failure since the last successful delivery. */
  readonly failingSince: string | null;
  readonly disabledAt: string | null;
  readonly disabledReason: DisabledReason | null;
  readonly createdAt: string;
}

interface EndpointRow extends Record<string, unknown> {
  client_id: string;
  endpoint_id: string;
  url: string;
  kinds: string[];
  failing_since: Date | null;
  disabled_at: Date | null;
  disabled_reason: DisabledReason | null;
  created_at: Date;
}

const ENDPOINT_COLUMNS = 'client_id, endpoint_id, url, kinds, failing_since, disabled_at, disabled_reason, created_at';

export interface NewEndpoint extends EndpointKey {
  readonly url: string;
  readonly kinds: readonly string[];
  readonly secretSealed: Buffer;
}

/** Returns null when the client already has `endpointsMax` endpoints. */
export function insertEndpoint(
  database: Database,
  { clientId, endpointId, url, kinds, secretSealed }: NewEndpoint,
  endpointsMax: number,
): Promise<CallbackEndpoint | null> {
  return databaseOfClient(database, clientId).transaction(async (query) => {
    // Serializes registrations, or two at once could exceed the maximum. Not "for update": it would block the client's
    // feed.
    await query('select from tiba.clients where client_id = $1 for no key update', [clientId]);
    const { rows } = await query<EndpointRow>(
      `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
       select $1, $2, $3, $4, $5
        where (select count(*) from tiba.callback_endpoints where client_id = $1) < $6
       returning ${ENDPOINT_COLUMNS}`,
      [clientId, endpointId, url, kinds, secretSealed, endpointsMax],
    );
    if (rows.length > 0) await noteEndpointChange(query, clientId);
    return rows.map(fromRow)[0] ?? null;
  });
}

/** The client's endpoints, oldest first. */
export async function listEndpoints(database: Database, clientId: string): Promise<CallbackEndpoint[]> {
  const rows = await databaseOfClient(database, clientId).query<EndpointRow>(
    `select ${ENDPOINT_COLUMNS} from tiba.callback_endpoints where client_id = $1 order by created_at, endpoint_id`,
    [clientId],
  );
  return rows.map(fromRow);
}

export async function findEndpoint(
  database: Database,
  { clientId, endpointId }: EndpointKey,
): Promise<CallbackEndpoint | null> {
  const rows = await databaseOfClient(database, clientId).query<EndpointRow>(
    `select ${ENDPOINT_COLUMNS} from tiba.callback_endpoints where client_id = $1 and endpoint_id = $2`,
    [clientId, endpointId],
  );
  return rows.map(fromRow)[0] ?? null;
}

/** Omitted fields stay unchanged. */
export interface EndpointChanges {
  readonly url?: string;
  readonly kinds?: readonly string[];
  readonly disabled?: boolean;
  /** Who disables it; the client where it is left out. */
  readonly disabledBy?: 'client' | 'operator';
}

/**
 * Returns null when there is no such endpoint. Enabling a disabled endpoint clears its failures and makes its pending
 * deliveries due at once. Another URL clears its failures.
 */
export async function changeEndpoint(
  database: Database,
  key: EndpointKey,
  changes: NullableChanges,
): Promise<CallbackEndpoint | null> {
  if (changes.disabled === false) await prepareEnabling(database, key);
  return databaseOfClient(database, key.clientId).transaction((query) => changeEndpointIn(query, key, changes));
}

type NullableChanges = { [Field in keyof EndpointChanges]: EndpointChanges[Field] | null };

/**
 * Makes the pending deliveries of an endpoint due if it is disabled, in transactions that each lock few of them.
 * Nothing is sent before the endpoint is enabled, which comes last: a process that is killed leaves a disabled
 * endpoint, and not an enabled one with deliveries that wait for up to a day.
 */
export async function prepareEnabling(database: Database, key: EndpointKey): Promise<void> {
  const own = databaseOfClient(database, key.clientId);
  let mayBeMore = true;
  while (mayBeMore) mayBeMore = await own.transaction((query) => makePendingDue(query, key));
}

/**
 * `changeEndpoint` as a part of a database transaction. Call `prepareEnabling` before one that enables the endpoint.
 * @throws DatabaseContended when it was disabled after that, and has too many deliveries for one transaction
 */
export async function changeEndpointIn(
  query: Query,
  key: EndpointKey,
  { url = null, kinds = null, disabled = null, disabledBy = 'client' }: NullableChanges,
): Promise<CallbackEndpoint | null> {
  const { clientId, endpointId } = key;
  const before = await query<{ disabled: boolean; now: string }>(
    `select disabled_at is not null as disabled, now()::text as now from tiba.callback_endpoints
      where client_id = $1 and endpoint_id = $2 for no key update`,
    [clientId, endpointId],
  );
  const reenabled = disabled === false && before.rows[0]?.disabled === true;
  // Attempts that were in flight when it was disabled have set another time since.
  if (reenabled && (await makePendingDue(query, key)))
    throw new DatabaseContended('an endpoint was disabled meanwhile');
  const { rows } = await query<EndpointRow>(
    `update tiba.callback_endpoints
        set url = coalesce($3, url),
            kinds = coalesce($4::text[], kinds),
            -- A distributed PostgreSQL takes neither "case $5 when", nor now() in a case.
            disabled_at = case when $5::boolean then coalesce(disabled_at, $7::timestamptz)
                               when $5 is null then disabled_at end,
            disabled_reason = case when $5::boolean then coalesce(disabled_reason, $8)
                                   when $5 is null then disabled_reason end,
            failing_since = case when $6 or $3 <> url then null else failing_since end
      where client_id = $1 and endpoint_id = $2
     returning ${ENDPOINT_COLUMNS}`,
    [clientId, endpointId, url, kinds, disabled, reenabled, before.rows[0]?.now ?? null, disabledBy],
  );
  if (reenabled) await notifyDue(query, [key]);
  if (rows.length > 0) await noteEndpointChange(query, clientId);
  return rows.map(fromRow)[0] ?? null;
}

/** Deliveries in one statement: few enough that it ends well within the statement timeout. */
const DUE_BATCH_SIZE = 1_000;

/**
 * Makes pending deliveries that wait for a later attempt due, if their endpoint is disabled: when it is not, another
 * request has enabled it. Returns whether there may be more.
 */
async function makePendingDue(query: Query, key: EndpointKey): Promise<boolean> {
  const { rows } = await query<{ count: number }>(
    // The array allows only look-ups by key. A join could execute the locking select again for each row, and then it
    // takes more deliveries than its limit.
    `with waiting as materialized (
       select sequence from tiba.callback_outbox
        where client_id = $1 and endpoint_id = $2 and state = 'pending' and next_attempt_at > now()
          and exists (select from tiba.callback_endpoints e
                       where e.client_id = $1 and e.endpoint_id = $2 and e.disabled_at is not null)
        order by next_attempt_at limit ${DUE_BATCH_SIZE} for no key update
     ), due as (
       update tiba.callback_outbox d set next_attempt_at = now()
        where d.client_id = $1 and d.endpoint_id = $2 and d.sequence = any (array(select sequence from waiting))
       returning 1
     )
     select count(*)::int as count from due`,
    [key.clientId, key.endpointId],
  );
  return rows[0]?.count === DUE_BATCH_SIZE;
}

/** Returns the time until which the former secret signs too; null when there is no such endpoint. */
export async function rotateEndpointSecret(
  database: Database,
  { clientId, endpointId }: EndpointKey,
  secretSealed: Buffer,
  overlapSeconds: number,
): Promise<string | null> {
  const rows = await databaseOfClient(database, clientId).query<{ former_secret_until: Date }>(
    `update tiba.callback_endpoints
        set former_secret_sealed = secret_sealed, former_secret_until = now() + make_interval(secs => $4),
            secret_sealed = $3
      where client_id = $1 and endpoint_id = $2
     returning former_secret_until`,
    [clientId, endpointId, secretSealed, overlapSeconds],
  );
  return rows[0]?.former_secret_until.toISOString() ?? null;
}

/** The URL and the signing secrets of an endpoint. Secrets are the text `whsec_…`, sealed. */
export interface SealedEndpoint {
  readonly url: string;
  readonly secretSealed: Buffer;
  /** After a rotation, until `formerSecretUntil`, both secrets sign. */
  readonly formerSecretSealed: Buffer | null;
  readonly formerSecretUntil: Date | null;
}

/** Returns enabled and disabled endpoints. */
export async function findSealedEndpoint(
  database: Database,
  { clientId, endpointId }: EndpointKey,
): Promise<SealedEndpoint | null> {
  const [row] = await databaseOfClient(database, clientId).query<{
    url: string;
    secret_sealed: Buffer;
    former_secret_sealed: Buffer | null;
    former_secret_until: Date | null;
  }>(
    `select url, secret_sealed, former_secret_sealed, former_secret_until from tiba.callback_endpoints
      where client_id = $1 and endpoint_id = $2`,
    [clientId, endpointId],
  );
  if (row === undefined) return null;
  return {
    url: row.url,
    secretSealed: row.secret_sealed,
    formerSecretSealed: row.former_secret_sealed,
    formerSecretUntil: row.former_secret_until,
  };
}

/**
 * Locks an endpoint until the database transaction ends. Resolves to what can be changed about it, as JSON text to
 * compare and to record; null when there is no such endpoint. The URL is there with its origin and as a hash, because
 * clients put keys of their own into paths; a secret as the beginning of a hash, so that a replaced one differs.
 */
export async function lockEndpointState(
  inside: Database,
  { clientId, endpointId }: EndpointKey,
): Promise<string | null> {
  const [row] = await inside.query<{ state: string }>(
    `select json_build_object(
              'origin', substring(url from '^[^:]+://[^/?#]+'),
              'url_sha256', encode(sha256(convert_to(url, 'UTF8')), 'hex'),
              'kinds', kinds, 'disabled', disabled_at is not null, 'disabled_reason', disabled_reason,
              'secret', left(encode(sha256(secret_sealed), 'hex'), 8))::text as state
       from tiba.callback_endpoints where client_id = $1 and endpoint_id = $2 for no key update`,
    [clientId, endpointId],
  );
  return row?.state ?? null;
}

/** `disabled`, or enabled but `failing`. */
export const UNHEALTHY_STATES = ['disabled', 'failing'] as const;
export type UnhealthyState = (typeof UNHEALTHY_STATES)[number];

/** Disabled and failing endpoints of all clients, the longest first: for the operator. */
export async function listUnhealthyEndpoints(
  database: Database,
  state: UnhealthyState | null,
  limit: number,
): Promise<CallbackEndpoint[]> {
  const rows = await database.query<EndpointRow>(
    `select ${ENDPOINT_COLUMNS} from tiba.callback_endpoints
      where (disabled_at is not null or failing_since is not null)
        and ($1::text is null or ($1 = 'disabled') = (disabled_at is not null))
      order by coalesce(failing_since, disabled_at), client_id, endpoint_id limit $2`,
    [state, limit],
  );
  return rows.map(fromRow);
}

const fromRow = (row: EndpointRow): CallbackEndpoint => ({
  clientId: row.client_id,
  endpointId: row.endpoint_id,
  url: row.url,
  kinds: row.kinds,
  failingSince: row.failing_since?.toISOString() ?? null,
  disabledAt: row.disabled_at?.toISOString() ?? null,
  disabledReason: row.disabled_reason,
  createdAt: row.created_at.toISOString(),
});
