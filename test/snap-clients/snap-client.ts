import { createHash, createHmac, type KeyObject, randomInt, sign } from 'node:crypto';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { readSnapPublicKey } from '../../apps/server/src/auth/snap-credentials.ts';
import {
  insertSnapPublicKey,
  replaceSnapSecret,
  type SnapClientOptions,
  setSnapClient,
} from '../../apps/server/src/postgres/snap-clients.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts';

export interface SnapAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A service with a SNAP listener, whose own bank is BCA. */
export async function startSnapService(
  options: TestServiceOptions = {},
): Promise<TestService & { readonly snapUrl: string }> {
  const settings = { snapPort: 0, snapOwnBank: 'BCA', ...options.settings };
  const service = await startTestService({ ...options, settings });
  if (service.app.snapUrl === null) throw new Error('there is no SNAP listener');
  return { ...service, snapUrl: service.app.snapUrl };
}

/** A client that speaks SNAP, and everything it signs with. */
export interface SnapClient {
  readonly clientId: string;
  readonly partnerId: string;
  readonly secret: string;
  readonly keys: RsaKeys;
}

/** Gives a client of the service a key pair and a secret. */
export async function addSnapClient(
  { app }: TestService,
  clientId: string,
  options: SnapClientOptions = {},
): Promise<SnapClient> {
  const keys = rsaKeys();
  const secret = `secret of ${clientId}`;
  const secretSealed = createSeal(Buffer.alloc(32, 7)).seal(secret);
  await setSnapClient(app.database, clientId, options);
  await insertSnapPublicKey(
    app.database,
    clientId,
    readSnapPublicKey(keys.publicKey.export({ type: 'spki', format: 'pem' })),
  );
  await replaceSnapSecret(app.database, clientId, { secretSealed, formerHours: 0 });
  await app.clients.reload();
  return { clientId, partnerId: options.partnerId ?? clientId, secret, keys };
}

export const jakartaNow = (offsetMs = 0): string =>
  `${new Date(Date.now() + offsetMs + 7 * 3_600_000).toISOString().slice(0, 19)}+07:00`;

/** A numeric string that no other call returns. */
export const newExternalId = (): string => `${Date.now()}${randomInt(1e9)}${(count += 1)}`.slice(0, 36);
let count = 0;

const hashOf = (body: string): string => createHash('sha256').update(body).digest('hex');

/** ASPI, "keamanan", type 1. */
export const symmetricSignature = (
  secret: string,
  signed: { readonly path: string; readonly token: string; readonly body: string; readonly timestamp: string },
): Buffer =>
  createHmac('sha512', secret)
    .update(`POST:${signed.path}:${signed.token}:${hashOf(signed.body)}:${signed.timestamp}`)
    .digest();

/** ASPI, "keamanan", type 2. */
export const asymmetricSignature = (key: KeyObject, path: string, body: string, timestamp: string): Buffer =>
  sign('sha256', Buffer.from(`POST:${path}:${hashOf(body)}:${timestamp}`), key);

export async function post(url: string, headers: Record<string, string>, body: string | Buffer): Promise<SnapAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** Of a request for a token (ASPI, service 73), in base64. */
export const tokenSignature = ({ clientId, keys }: SnapClient, timestamp: string): string =>
  sign('sha256', Buffer.from(`${clientId}|${timestamp}`), keys.privateKey).toString('base64');

/** Service 73. */
export function requestToken(snapUrl: string, client: SnapClient, timestamp = jakartaNow()) {
  const signature = tokenSignature(client, timestamp);
  const headers = { 'x-timestamp': timestamp, 'x-client-key': client.clientId, 'x-signature': signature };
  return post(`${snapUrl}/v1.0/access-token/b2b`, headers, '{"grantType":"client_credentials"}');
}

export interface CallOptions {
  readonly path?: string;
  readonly timestamp?: string;
  readonly externalId?: string;
  /** Change or remove headers after signing. */
  readonly headers?: Record<string, string>;
  /** Of the signed text, if it is not `path`. */
  readonly signedPath?: string;
  readonly encoding?: 'base64' | 'hex';
}

/** A symmetrically signed request. A string is sent as it is. */
export function call(
  snapUrl: string,
  client: SnapClient,
  token: string,
  body: unknown,
  options: CallOptions = {},
): Promise<SnapAnswer> {
  const { path = '/v1.0/account-inquiry-external', timestamp = jakartaNow(), encoding = 'base64' } = options;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const signed = { path: options.signedPath ?? path, token, body: text, timestamp };
  const headers = {
    authorization: `Bearer ${token}`,
    'x-timestamp': timestamp,
    'x-signature': symmetricSignature(client.secret, signed).toString(encoding),
    'x-partner-id': client.partnerId,
    'x-external-id': options.externalId ?? newExternalId(),
    'channel-id': '95221',
    ...options.headers,
  };
  return post(snapUrl + path, headers, text);
}
