import type { Database } from '../postgres/database.ts';
import {
  findAllSnapClients,
  insertSnapPublicKey,
  replaceSnapSecret,
  type SnapClientOptions,
  type SnapClientRecord,
  type SnapPublicKey,
  setSnapClient,
} from '../postgres/snap-clients.ts';
import { generateSecret, type Seal } from './secrets.ts';

/** What the operator can do to a client's use of the SNAP listener, by command and over the operator API. */

export const PUBLIC_KEYS_MAX = 10;
export const CLOCK_SKEW_SECONDS_MAX = 86_400;
/** For how long the former secret stays valid, in hours. */
export const FORMER_HOURS = 24;
export const FORMER_HOURS_MAX = 999;

/** ASPI, X-PARTNER-ID. */
const PARTNER_ID = /^[!-~]{1,36}$/;

/** 1 to 36 printable ASCII characters without spaces. */
export const isPartnerId = (text: string): boolean => PARTNER_ID.test(text);

export const isClockSkew = (seconds: number): boolean =>
  Number.isInteger(seconds) && seconds >= 1 && seconds <= CLOCK_SKEW_SECONDS_MAX;

/** Why nothing was changed. */
export type SnapRefusal =
  /** The client_id is too long for an X-PARTNER-ID: the client needs another one. */
  | { readonly refusal: 'partner ID needed' }
  | { readonly refusal: 'partner ID in use'; readonly partnerId: string }
  | { readonly refusal: 'too many keys' };

/** Null for a client that cannot use the SNAP listener. */
export async function findSnapClient(database: Database, clientId: string): Promise<SnapClientRecord | null> {
  return (await findAllSnapClients(database)).find((each) => each.clientId === clientId) ?? null;
}

/** Lets an existing client use the SNAP listener, or changes how it does. */
export async function allowSnap(
  database: Database,
  clientId: string,
  changes: SnapClientOptions,
): Promise<SnapClientRecord | SnapRefusal> {
  const known = await findSnapClient(database, clientId);
  const partnerId = changes.partnerId ?? known?.partnerId ?? clientId;
  if (!isPartnerId(partnerId)) return { refusal: 'partner ID needed' };
  if (!(await setSnapClient(database, clientId, { ...changes, partnerId })))
    return { refusal: 'partner ID in use', partnerId };
  const client = await findSnapClient(database, clientId);
  if (client === null) throw new Error('a client of the SNAP listener was deleted while it was changed');
  return client;
}

/** `isNew` is false for a key that the client has already. */
export async function addSnapKey(
  database: Database,
  clientId: string,
  key: SnapPublicKey,
): Promise<{ readonly isNew: boolean } | SnapRefusal> {
  const client = await allowSnap(database, clientId, {});
  if ('refusal' in client) return client;
  if (client.publicKeys.length >= PUBLIC_KEYS_MAX) return { refusal: 'too many keys' };
  return { isNew: await insertSnapPublicKey(database, clientId, key) };
}

/** Replaces the secret of symmetric signatures. The former one stays valid for `formerHours`. */
export async function renewSnapSecret(
  database: Database,
  seal: Seal,
  { clientId, formerHours }: { readonly clientId: string; readonly formerHours: number },
): Promise<{ readonly secret: string } | SnapRefusal> {
  const client = await allowSnap(database, clientId, {});
  if ('refusal' in client) return client;
  const secret = generateSecret();
  await replaceSnapSecret(database, clientId, { secretSealed: seal.seal(secret), formerHours });
  return { secret };
}

/** As operators see it, without the secrets. */
export const snapJson = (client: SnapClientRecord) => ({
  partner_id: client.partnerId,
  external_ids: client.externalIds,
  body_hash: client.bodyHash,
  clock_skew_seconds: client.clockSkewSeconds,
  key_ids: client.publicKeys.map(({ keyId }) => keyId),
  has_secret: client.secretSealed !== null,
  former_secret_until: formerSecretUntil(client),
});

/** ISO 8601 UTC; null without a former secret that is valid. */
export const formerSecretUntil = ({ formerSecretUntilMs }: SnapClientRecord): string | null =>
  formerSecretUntilMs > Date.now() ? new Date(formerSecretUntilMs).toISOString() : null;
