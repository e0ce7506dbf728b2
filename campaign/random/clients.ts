import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import pino from 'pino';
import { SCOPES, type Scope } from '../../apps/server/src/auth/scopes.ts';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { migrate } from '../../apps/server/src/postgres/migrate.ts';
import type { Caller } from './caller.ts';
import type { Canaries } from './canaries.ts';

/** Those whose transactions are known, one with a low limit, one that sends random requests, and the operator's. */
const CLIENT_IDS = ['alpha', 'beta', 'limited', 'fuzz', 'core', 'operator'] as const;
export type ClientId = (typeof CLIENT_IDS)[number];

/** Owners of known transactions. */
export const OWNERS = ['alpha', 'beta'] as const satisfies readonly ClientId[];
export type Owner = (typeof OWNERS)[number];

export const LIMITED_PER_MINUTE = 40;
const PLENTY = 1_000_000_000;

export type Secrets = Readonly<Record<ClientId, string>>;
export type Tokens = Readonly<Record<ClientId, string>>;

const PUBLIC_SCOPES: readonly Scope[] = [
  'status:read',
  'transactions:read',
  'account:check',
  'events:read',
  'callbacks:manage',
];
const SCOPES_OF: Readonly<Record<ClientId, readonly Scope[]>> = {
  alpha: PUBLIC_SCOPES,
  beta: PUBLIC_SCOPES,
  limited: ['status:read'],
  fuzz: SCOPES,
  core: ['feed:write'],
  operator: ['operator:read'],
};

/** Migrates an empty database, and creates the clients in it. */
export async function createClients(connection: pg.ClientConfig, canaries: Canaries): Promise<Secrets> {
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  try {
    await migrate(database);
    const secrets: Record<string, string> = {};
    for (const clientId of CLIENT_IDS) {
      const secret = randomBytes(32).toString('base64url');
      canaries.add(secret);
      secrets[clientId] = secret;
      const statusLimit = clientId === 'limited' ? LIMITED_PER_MINUTE : PLENTY;
      await insertClient(database, {
        clientId,
        name: clientId,
        secretHash: hashSecret(secret),
        scopes: SCOPES_OF[clientId],
        limits: { 'check-status': statusLimit, 'check-account': PLENTY, 'accounts-per-day': PLENTY },
      });
    }
    // The enumeration guard has tests of its own; here it would stop random checks of accounts.
    await database.query('update tiba.clients set trusted = true');
    return secrets as Secrets;
  } finally {
    await database.close();
  }
}

/** Logs every client in. */
export async function logIn(caller: Caller, secrets: Secrets, canaries: Canaries): Promise<Tokens> {
  const tokens = CLIENT_IDS.map(async (clientId): Promise<[ClientId, string]> => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secrets[clientId] };
    const answer = await caller.repeat(
      {
        method: 'POST',
        target: '/oauth/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
      },
      AbortSignal.timeout(30_000),
    );
    const { access_token: token } = JSON.parse(answer?.text ?? '{}') as { readonly access_token?: string };
    if (token === undefined) throw new Error(`${clientId} cannot log in: ${answer?.text}`);
    // The signature: the other parts occur in every token.
    canaries.add(token.slice(token.lastIndexOf('.') + 1));
    return [clientId, token];
  });
  return Object.fromEntries(await Promise.all(tokens)) as Tokens;
}
