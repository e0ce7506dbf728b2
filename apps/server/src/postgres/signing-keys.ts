import type { Database } from './database.ts';

export interface SigningKeyRecord {
  readonly keyId: string;
  readonly algorithm: string;
  readonly publicJwk: Record<string, unknown>;
  readonly privateJwkSealed: Buffer;
  readonly retired: boolean;
}

interface SigningKeyRow extends Record<string, unknown> {
  key_id: string;
  algorithm: string;
  public_jwk: Record<string, unknown>;
  private_jwk_sealed: Buffer;
  retired: boolean;
}

/**
 * Newest first; the first key that is not retired signs. Leaves out keys that were retired so long ago that every token
 * they signed has expired.
 */
export async function findSigningKeys(
  database: Database,
  tokenLifetimeMaxSeconds: number,
): Promise<SigningKeyRecord[]> {
  const rows = await database.query<SigningKeyRow>(
    `select key_id, algorithm, public_jwk, private_jwk_sealed, retired_at is not null as retired
       from tiba.signing_keys
      where retired_at is null or retired_at > now() - make_interval(secs => $1)
      order by created_at desc, key_id`,
    [tokenLifetimeMaxSeconds],
  );
  return rows.map((row) => ({
    keyId: row.key_id,
    algorithm: row.algorithm,
    publicJwk: row.public_jwk,
    privateJwkSealed: row.private_jwk_sealed,
    retired: row.retired,
  }));
}

type NewSigningKey = Omit<SigningKeyRecord, 'retired'>;

/** Processes that start together on an empty database, and a rotation, wait for each other. */
const LOCK = 'lock table tiba.signing_keys in share row exclusive mode';

const INSERT =
  'insert into tiba.signing_keys (key_id, algorithm, public_jwk, private_jwk_sealed) values ($1, $2, $3, $4)';

const valuesOf = (key: NewSigningKey): unknown[] => [
  key.keyId,
  key.algorithm,
  JSON.stringify(key.publicJwk),
  key.privateJwkSealed,
];

/** Stores a key unless there is one that signs. */
export async function insertFirstSigningKey(database: Database, key: NewSigningKey): Promise<void> {
  await database.transaction(async (query) => {
    await query(LOCK);
    const { rows } = await query('select from tiba.signing_keys where retired_at is null');
    if (rows.length === 0) await query(INSERT, valuesOf(key));
  });
}

/** Stores a new key, which signs from now on, and retires all earlier keys in the same transaction. */
export async function rotateSigningKey(database: Database, key: NewSigningKey): Promise<void> {
  await database.transaction(async (query) => {
    await query(LOCK);
    await query('update tiba.signing_keys set retired_at = now() where retired_at is null');
    await query(INSERT, valuesOf(key));
  });
}
