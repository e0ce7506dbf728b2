import type { Database } from './database.ts';

/** What is no client: the whole installation. */
export const INSTALLATION_ID = '';

/**
 * What an operator can change, as JSON text to compare and to record: of one client, or of the installation when
 * `clientId` is INSTALLATION_ID. A secret is shown as the beginning of a hash, so that a replaced one differs: a secret
 * of the client by its ID (`secretIdOf`), as the list of its secrets shows it.
 */
export async function findManagedState(database: Database, clientId: string): Promise<string | null> {
  const rows =
    clientId === INSTALLATION_ID
      ? await database.query<{ state: string }>(INSTALLATION)
      : await database.query<{ state: string }>(CLIENT, [clientId]);
  return rows[0]?.state ?? null;
}

/**
 * Locks what `findManagedState` reads until the database transaction ends. Without it, another operator's change could
 * come between `before` and this one's change, and either of the two could be left out of the record.
 */
export async function lockManagedState(inside: Database, clientId: string): Promise<void> {
  if (clientId === INSTALLATION_ID)
    await inside.query('lock table tiba.signing_keys, tiba.restores in share row exclusive mode');
  else await inside.query('select from tiba.clients where client_id = $1 for no key update', [clientId]);
}

const secretId = (column: string): string => `left(encode(${column}, 'hex'), 8)`;

const fingerprint = (column: string): string => `left(encode(sha256(${column}), 'hex'), 8)`;

const CLIENT = `
select json_build_object(
         'name', c.name, 'scopes', c.scopes, 'trusted', c.trusted, 'disabled', c.disabled_at is not null,
         'limits', json_build_object('check_status_per_minute', c.check_status_per_minute,
                                     'check_account_per_minute', c.check_account_per_minute,
                                     'accounts_per_day', c.accounts_per_day),
         'secret', ${secretId('c.secret_hash')},
         'second_secret', ${secretId('c.second_secret_hash')}, 'tokens_valid_from', c.tokens_valid_from,
         'snap', case when s.client_id is not null then json_build_object(
           'partner_id', s.partner_id, 'external_ids', s.external_ids, 'body_hash', s.body_hash,
           'clock_skew_seconds', s.clock_skew_seconds, 'secret', ${fingerprint('s.secret_sealed')},
           'former_secret_until', s.former_secret_until,
           'keys', (select json_agg(k.key_id order by k.key_id) from tiba.snap_public_keys k
                     where k.client_id = c.client_id)) end)::text as state
  from tiba.clients c left join tiba.snap_clients s using (client_id) where c.client_id = $1`;

const INSTALLATION = `
select json_build_object(
         'signing_keys', (select json_agg(json_build_object('key_id', key_id, 'retired', retired_at is not null)
                                          order by created_at, key_id) from tiba.signing_keys),
         'restored', (select max(epoch) from tiba.restores))::text as state`;
