import type { LimitedOperation } from '../rate-limit/limiter.ts';

import type { Database, Query, Row } from './database.ts';
import { CLIENTS_CHANNEL } from './reload-channels.ts';
import { SEQUENCE_FLOOR } from './restores.ts';

/**
 * Limits that can be set per client. `accounts-per-day` counts the different accounts that a client checks in a day.
 */
export type ClientLimit = Extract<LimitedOperation, 'check-status' | 'check-account'> | 'accounts-per-day';

/** A client as the operator configured it. */
export interface ClientRecord {
  readonly clientId: string;
  readonly name: string;
  /** SHA-256 of the secret. */
  readonly secretHash: Buffer;
  /** Of the new secret, while the secret is being replaced; otherwise null. */
  readonly secondSecretHash: Buffer | null;
  readonly scopes: readonly string[];
  /** Limits that the operator set for this client: requests per minute, and accounts per day. */
  readonly limits: Partial<Record<ClientLimit, number>>;
  /** Tokens issued before this time are revoked. Milliseconds since 1970; 0 when none are. */
  readonly tokensValidFromMs: number;
  readonly disabled: boolean;
  /** The enumeration guard does not restrict a trusted client. */
  readonly trusted: boolean;
}

interface ClientRow extends Record<string, unknown> {
  client_id: string;
  name: string;
  secret_hash: Buffer;
  second_secret_hash: Buffer | null;
  scopes: string[];
  check_status_per_minute: number | null;
  check_account_per_minute: number | null;
  accounts_per_day: number | null;
  valid_from_ms: string;
  disabled: boolean;
  trusted: boolean;
}

const SELECT = `
  select client_id, name, secret_hash, second_secret_hash, scopes, check_status_per_minute, check_account_per_minute,
         accounts_per_day, trusted,
         (case when isfinite(tokens_valid_from) then extract(epoch from tokens_valid_from) * 1000 else 0 end)::text
           as valid_from_ms,
         disabled_at is not null as disabled
    from tiba.clients`;

export async function findAllClients(database: Database): Promise<ClientRecord[]> {
  const rows = await database.query<ClientRow>(`${SELECT} order by client_id`);
  return rows.map(clientOf);
}

/**
 * Clients whose client_id is greater than `after`, in the order of client_id; of all, or of those whose ID or name
 * contains `text`, in letters of any case.
 */
export async function listClients(
  database: Database,
  { after, text, limit }: { readonly after: string; readonly text: string | null; readonly limit: number },
): Promise<ClientRecord[]> {
  const rows = await database.query<ClientRow>(
    `${SELECT}
      where client_id > $1
        and ($2::text is null or position(lower($2) in lower(client_id)) > 0 or position(lower($2) in lower(name)) > 0)
      order by client_id limit $3`,
    [after, text, limit],
  );
  return rows.map(clientOf);
}

export async function findClient(database: Database, clientId: string): Promise<ClientRecord | null> {
  const [row] = await database.query<ClientRow>(`${SELECT} where client_id = $1`, [clientId]);
  return row === undefined ? null : clientOf(row);
}

const clientOf = (row: ClientRow): ClientRecord => ({
  clientId: row.client_id,
  name: row.name,
  secretHash: row.secret_hash,
  secondSecretHash: row.second_secret_hash,
  scopes: row.scopes,
  limits: {
    ...(row.check_status_per_minute === null ? {} : { 'check-status': row.check_status_per_minute }),
    ...(row.check_account_per_minute === null ? {} : { 'check-account': row.check_account_per_minute }),
    ...(row.accounts_per_day === null ? {} : { 'accounts-per-day': row.accounts_per_day }),
  },
  tokensValidFromMs: Number(row.valid_from_ms),
  disabled: row.disabled,
  trusted: row.trusted,
});

/**
 * Enabled clients with this scope whose client_id is greater than `after`, in the order of client_id. Reads across
 * clients, for notices that all of them get.
 */
export async function findClientsWithScope(
  query: Query,
  scope: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const { rows } = await query<{ client_id: string }>(
    `select client_id from tiba.clients
      where client_id > $2 and disabled_at is null and $1 = any (scopes) order by client_id limit $3`,
    [scope, after, limit],
  );
  return rows.map((row) => row.client_id);
}

export interface NewClient {
  readonly clientId: string;
  readonly name: string;
  readonly secretHash: Buffer;
  readonly scopes: readonly string[];
  readonly limits?: Partial<Record<ClientLimit, number>>;
}

/**
 * Runs a statement that changes clients, and notifies all processes. A trigger notifies them too, of changes by hand; a
 * distributed PostgreSQL has no triggers on this table.
 */
export const changeClients = (database: Database, sql: string, values: readonly unknown[]): Promise<Row[]> =>
  database.transaction(async (query) => {
    const { rows } = await query(sql, values);
    await query('select pg_notify($1, $2)', [CLIENTS_CHANNEL, '']);
    return rows;
  });

/** Returns false when the client_id is already in use. */
export const insertClient = (database: Database, client: NewClient): Promise<boolean> =>
  database.transaction(async (query) => {
    const { rowCount } = await query(
      `insert into tiba.clients
         (client_id, name, secret_hash, scopes, check_status_per_minute, check_account_per_minute, accounts_per_day)
       values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
      [
        client.clientId,
        client.name,
        client.secretHash,
        client.scopes,
        client.limits?.['check-status'] ?? null,
        client.limits?.['check-account'] ?? null,
        client.limits?.['accounts-per-day'] ?? null,
      ],
    );
    if (rowCount === 0) return false;
    // A client that a restore has lost may be created again: its readers know events of the lost time.
    await query(
      `insert into tiba.event_sequences (client_id, last_sequence)
       select $1, ${SEQUENCE_FLOOR} where exists (select from tiba.restores)`,
      [client.clientId],
    );
    await query('select pg_notify($1, $2)', [CLIENTS_CHANNEL, '']);
    return true;
  });

/** What the operator can change about a client, as the assignments of one statement. */
const CLIENT_CHANGES = {
  // least() leaves null out.
  disable: 'disabled_at = least(disabled_at, now())',
  enable: 'disabled_at = null',
  trust: 'trusted = true',
  distrust: 'trusted = false',
  'revoke-tokens': 'tokens_valid_from = now()',
} as const;
export type ClientChange = keyof typeof CLIENT_CHANGES;

/** Returns false when there is no such client. */
export async function changeClient(database: Database, clientId: string, change: ClientChange): Promise<boolean> {
  const rows = await changeClients(
    database,
    `update tiba.clients set ${CLIENT_CHANGES[change]} where client_id = $1 returning client_id`,
    [clientId],
  );
  return rows.length === 1;
}

/** Sets what the client's tokens may be used for from now on. Returns false when there is no such client. */
export async function setClientScopes(
  database: Database,
  clientId: string,
  scopes: readonly string[],
): Promise<boolean> {
  const rows = await changeClients(
    database,
    'update tiba.clients set scopes = $2 where client_id = $1 returning client_id',
    [clientId, scopes],
  );
  return rows.length === 1;
}

const LIMIT_COLUMNS = {
  'check-status': 'check_status_per_minute',
  'check-account': 'check_account_per_minute',
  'accounts-per-day': 'accounts_per_day',
} as const satisfies Record<ClientLimit, string>;

export const CLIENT_LIMITS: readonly ClientLimit[] = ['check-status', 'check-account', 'accounts-per-day'];

/**
 * Sets limits. null removes the client's own limit, so the default applies again; a limit that is left out stays as it
 * is. Returns false when there is no such client.
 */
export async function setClientLimits(
  database: Database,
  clientId: string,
  limits: Partial<Record<ClientLimit, number | null>>,
): Promise<boolean> {
  const changed = CLIENT_LIMITS.filter((name) => limits[name] !== undefined);
  const assignments = changed.map((name, index) => `${LIMIT_COLUMNS[name]} = $${index + 2}`);
  const rows = await changeClients(
    database,
    `update tiba.clients set ${['name = name', ...assignments].join(', ')}
      where client_id = $1 returning client_id`,
    [clientId, ...changed.map((name) => limits[name])],
  );
  return rows.length === 1;
}
