import { addClientSecret, replaceClientSecret } from '../postgres/client-secrets.ts';
import { insertClient } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import type { Scope } from './scopes.ts';
import { generateSecret, hashSecret } from './secrets.ts';

/**
 * The secrets with which clients log in, as commands and the operator API make them. A secret is returned once: the
 * database has its hash only.
 */

const CLIENT_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** 1 to 64 letters, digits, dots, dashes or underscores: for clients that the operator creates. */
export const isNewClientId = (text: string): boolean => CLIENT_ID.test(text);

/** Resolves to the secret; null when the client_id is in use. */
export async function createClient(
  database: Database,
  client: { readonly clientId: string; readonly name: string; readonly scopes: readonly Scope[] },
): Promise<string | null> {
  const secret = generateSecret();
  return (await insertClient(database, { ...client, secretHash: hashSecret(secret) })) ? secret : null;
}

/** Creates a second secret; both are valid. Null when there are two already, or no such client. */
export async function addSecret(database: Database, clientId: string): Promise<string | null> {
  const secret = generateSecret();
  return (await addClientSecret(database, clientId, hashSecret(secret))) ? secret : null;
}

/** Replaces all secrets of the client, which obtain no more tokens. Null when there is no such client. */
export async function replaceSecrets(database: Database, clientId: string): Promise<string | null> {
  const secret = generateSecret();
  return (await replaceClientSecret(database, clientId, hashSecret(secret))) ? secret : null;
}
