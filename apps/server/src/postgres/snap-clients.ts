import type { Database } from './database.ts';

/** Whether X-EXTERNAL-ID must be numeric and unique in a day. */
export const EXTERNAL_ID_RULES = ['strict', 'off'] as const;
export type ExternalIdRule = (typeof EXTERNAL_ID_RULES)[number];

/** What a client's signatures hash: the body as sent or minified, or the body without any whitespace. */
export const BODY_HASHES = ['minified', 'without_whitespace'] as const;
export type BodyHash = (typeof BODY_HASHES)[number];

/** How a client uses the SNAP listener (docs/snap-clients.md). */
export interface SnapClientRecord {
  readonly clientId: string;
  readonly partnerId: string;
  /** Null until the client has a secret: then only its asymmetric signatures can be verified. */
  readonly secretSealed: Buffer | null;
  /** After a rotation, the secret before it. */
  readonly formerSecretSealed: Buffer | null;
  /** Until when the former secret is accepted. Milliseconds since 1970; 0 without one. */
  readonly formerSecretUntilMs: number;
  readonly externalIds: ExternalIdRule;
  readonly bodyHash: BodyHash;
  /** How far X-TIMESTAMP may be from this service's clock, in either direction. */
  readonly clockSkewSeconds: number;
  /** PEM, SubjectPublicKeyInfo; the oldest first. */
  readonly publicKeys: readonly SnapPublicKey[];
}

export interface SnapPublicKey {
  readonly keyId: string;
  readonly publicKey: string;
}

interface SnapClientRow extends Record<string, unknown> {
  client_id: string;
  partner_id: string;
  secret_sealed: Buffer | null;
  former_secret_sealed: Buffer | null;
  former_secret_until_ms: string;
  external_ids: ExternalIdRule;
  body_hash: BodyHash;
  clock_skew_seconds: number;
  key_ids: string[] | null;
  public_keys: string[] | null;
}

export async function findAllSnapClients(database: Database): Promise<SnapClientRecord[]> {
  const rows = await database.query<SnapClientRow>(`
    select s.client_id, s.partner_id, s.secret_sealed, s.former_secret_sealed, s.external_ids, s.body_hash,
           s.clock_skew_seconds, coalesce(extract(epoch from s.former_secret_until) * 1000, 0)::text
             as former_secret_until_ms,
           array_agg(k.key_id order by k.created_at, k.key_id) filter (where k.key_id is not null) as key_ids,
           array_agg(k.public_key order by k.created_at, k.key_id) filter (where k.key_id is not null) as public_keys
      from tiba.snap_clients s left join tiba.snap_public_keys k on k.client_id = s.client_id
     group by s.client_id order by s.client_id`);
  return rows.map((row) => ({
    clientId: row.client_id,
    partnerId: row.partner_id,
    secretSealed: row.secret_sealed,
    formerSecretSealed: row.former_secret_sealed,
    formerSecretUntilMs: Number(row.former_secret_until_ms),
    externalIds: row.external_ids,
    bodyHash: row.body_hash,
    clockSkewSeconds: row.clock_skew_seconds,
    publicKeys: (row.key_ids ?? []).map((keyId, index) => ({ keyId, publicKey: row.public_keys?.[index] ?? '' })),
  }));
}

/** What the operator sets for a client. What is left out stays as it is, or gets its default. */
export interface SnapClientOptions {
  readonly partnerId?: string;
  readonly externalIds?: ExternalIdRule;
  readonly bodyHash?: BodyHash;
  readonly clockSkewSeconds?: number;
}

/**
 * Lets an existing client use the SNAP listener, or changes how it does. Without a partner ID of its own, a client's
 * partner ID is its client ID. Returns false when another client has this partner ID.
 */
export async function setSnapClient(
  database: Database,
  clientId: string,
  { partnerId, externalIds, bodyHash, clockSkewSeconds }: SnapClientOptions,
): Promise<boolean> {
  const values = [clientId, partnerId ?? null, externalIds ?? null, bodyHash ?? null, clockSkewSeconds ?? null];
  return database.transaction(async (query) => {
    const inserted = await query(
      `insert into tiba.snap_clients (client_id, partner_id, external_ids, body_hash, clock_skew_seconds)
       values ($1, coalesce($2, $1), coalesce($3, 'strict'), coalesce($4, 'minified'), coalesce($5::int, 300))
       on conflict do nothing`,
      values,
    );
    if (inserted.rowCount === 1) return true;
    const changed = await query(
      `update tiba.snap_clients s
          set partner_id = coalesce($2, partner_id), external_ids = coalesce($3, external_ids),
              body_hash = coalesce($4, body_hash), clock_skew_seconds = coalesce($5::int, clock_skew_seconds)
        where client_id = $1
          and not exists (select 1 from tiba.snap_clients o where o.partner_id = $2 and o.client_id <> $1)`,
      values,
    );
    return changed.rowCount === 1;
  });
}

/** Replaces the secret. The former secret stays valid for `formerHours`. The client must have a row. */
export async function replaceSnapSecret(
  database: Database,
  clientId: string,
  { secretSealed, formerHours }: { readonly secretSealed: Buffer; readonly formerHours: number },
): Promise<void> {
  await database.query(
    `update tiba.snap_clients
        set former_secret_sealed = case when $3 > 0 then secret_sealed end,
            former_secret_until = case when $3 > 0 and secret_sealed is not null
                                       then now() + make_interval(hours => $3) end,
            secret_sealed = $2
      where client_id = $1`,
    [clientId, secretSealed, formerHours],
  );
}

/** Returns false when the client has this key already. The client must have a row. */
export async function insertSnapPublicKey(
  database: Database,
  clientId: string,
  { keyId, publicKey }: SnapPublicKey,
): Promise<boolean> {
  const rows = await database.query(
    `insert into tiba.snap_public_keys (client_id, key_id, public_key) values ($1, $2, $3)
     on conflict do nothing returning key_id`,
    [clientId, keyId, publicKey],
  );
  return rows.length === 1;
}

/** Returns false when the client has no such key. */
export async function deleteSnapPublicKey(database: Database, clientId: string, keyId: string): Promise<boolean> {
  const rows = await database.query(
    'delete from tiba.snap_public_keys where client_id = $1 and key_id = $2 returning key_id',
    [clientId, keyId],
  );
  return rows.length === 1;
}

/** Ends the client's use of the SNAP listener, with all its keys. Returns false when it had none. */
export async function deleteSnapClient(database: Database, clientId: string): Promise<boolean> {
  return database.transaction(async (query) => {
    await query('delete from tiba.snap_public_keys where client_id = $1', [clientId]);
    const { rowCount } = await query('delete from tiba.snap_clients where client_id = $1', [clientId]);
    return rowCount === 1;
  });
}
