import { changeClients } from './clients.ts';
import type { Database } from './database.ts';

/** A secret of a client, without the secret. */
export interface ClientSecret {
  /** Names it without telling anything about it: the beginning of its SHA-256. */
  readonly secretId: string;
  readonly hash: Buffer;
  /** ISO 8601. */
  readonly createdAt: string;
  /** The day in Jakarta; null if the client has not logged in with it. */
  readonly lastUsedOn: string | null;
}

const SECRET_ID_BYTES = 4;

export const secretIdOf = (hash: Buffer): string => hash.toString('hex', 0, SECRET_ID_BYTES);

interface SecretRow extends Record<string, unknown> {
  hash: Buffer;
  created_at: string;
  used_on: string | null;
}

/** The secrets of a client, the older one first. Empty when there is no such client. */
export async function findClientSecrets(database: Database, clientId: string): Promise<ClientSecret[]> {
  const rows = await database.query<SecretRow>(
    `select each.hash, to_char(each.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
            u.used_on::text
       from tiba.clients c
      cross join lateral (values (c.secret_hash, c.secret_created_at),
                                 (c.second_secret_hash, c.second_secret_created_at)) as each (hash, created_at)
       left join tiba.client_secret_uses u
         on u.client_id = c.client_id and u.secret_id = encode(substr(each.hash, 1, ${SECRET_ID_BYTES}), 'hex')
      where c.client_id = $1 and each.hash is not null order by each.created_at`,
    [clientId],
  );
  return rows.map((row) => ({
    secretId: secretIdOf(row.hash),
    hash: row.hash,
    createdAt: row.created_at,
    lastUsedOn: row.used_on,
  }));
}

/**
 * Replaces all secrets. Tokens that were obtained with them stay valid until they expire or are revoked. Returns false
 * when there is no such client.
 */
export async function replaceClientSecret(database: Database, clientId: string, secretHash: Buffer): Promise<boolean> {
  const rows = await changeClients(
    database,
    `with forgotten as (delete from tiba.client_secret_uses where client_id = $1)
     update tiba.clients
        set secret_hash = $2, secret_created_at = now(), second_secret_hash = null, second_secret_created_at = null
      where client_id = $1 returning client_id`,
    [clientId, secretHash],
  );
  return rows.length === 1;
}

/** Returns false when there is no such client, or it has two secrets already. */
export async function addClientSecret(database: Database, clientId: string, secretHash: Buffer): Promise<boolean> {
  const rows = await changeClients(
    database,
    `update tiba.clients set second_secret_hash = $2, second_secret_created_at = now()
      where client_id = $1 and second_secret_hash is null returning client_id`,
    [clientId, secretHash],
  );
  return rows.length === 1;
}

/** Leaves the client its other secret. Returns false when this is not one of two. */
export async function retireClientSecret(
  database: Database,
  clientId: string,
  { hash, secretId }: Pick<ClientSecret, 'hash' | 'secretId'>,
): Promise<boolean> {
  const rows = await changeClients(
    database,
    `with retired as (
       update tiba.clients
          set secret_hash = case when secret_hash = $2 then second_secret_hash else secret_hash end,
              secret_created_at = case when secret_hash = $2 then second_secret_created_at else secret_created_at end,
              second_secret_hash = null, second_secret_created_at = null
        where client_id = $1 and second_secret_hash is not null and $2 in (secret_hash, second_secret_hash)
       returning client_id
     ), forgotten as (
       delete from tiba.client_secret_uses u using retired r where u.client_id = r.client_id and u.secret_id = $3
     )
     select client_id from retired`,
    [clientId, hash, secretId],
  );
  return rows.length === 1;
}

/** Stores that the client has logged in with this secret today. */
export async function storeSecretUse(database: Database, clientId: string, secretId: string): Promise<void> {
  await database.query(
    `insert into tiba.client_secret_uses as u (client_id, secret_id, used_on)
     values ($1, $2, (now() at time zone 'Asia/Jakarta')::date)
     on conflict (client_id, secret_id) do update set used_on = excluded.used_on where u.used_on < excluded.used_on`,
    [clientId, secretId],
  );
}
