// A partner of the bank for tests: it signs as SNAP BI requires and sends over real HTTP.
// It shares no code with the bank, so that an error in the bank cannot hide here.

import { createHash, createHmac, sign } from 'node:crypto';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import type { BankSettings } from '../../apps/bank/src/settings.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';

export const TOKEN_PATH = '/v1.0/access-token/b2b';
export const INTERNAL_PATH = '/v1.0/account-inquiry-internal';
export const EXTERNAL_PATH = '/v1.0/account-inquiry-external';

export interface BankResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Headers to replace (a string) or to omit (undefined). */
export type HeaderChanges = Readonly<Record<string, string | undefined>>;

export interface Change {
  readonly headers?: HeaderChanges;
  /** Signed and sent unchanged, instead of the fields. */
  readonly bodyText?: string | Uint8Array<ArrayBuffer>;
  /** Sent instead of the body that was signed. */
  readonly bodySent?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
}

export function partnerSettings(keys: RsaKeys): BankSettings {
  return {
    host: '127.0.0.1',
    port: 0,
    profile: 'snap',
    clientKey: 'tiba-test-client',
    clientSecret: 'a secret of the test partner',
    clientPublicKey: keys.publicKey,
    partnerId: 'TIBATEST',
    channelId: '95221',
    origin: null,
    signature: 'symmetric-base64',
    tokenLifetimeSeconds: 900,
    clockToleranceSeconds: 300,
    journalFile: null,
    notifyUrl: null,
    tls: null,
  };
}

export interface Clock {
  readonly now: () => number;
  readonly advance: (milliseconds: number) => void;
}

/** A clock that stands still until a test advances it. */
export function createClock(start: string): Clock {
  let timeMs = Date.parse(start);
  return {
    now: () => timeMs,
    advance: (milliseconds) => {
      timeMs += milliseconds;
    },
  };
}

/** A change of one header; without a value the header is omitted. */
export function withHeader(name: string, value?: string): Change {
  return { headers: { [name]: value } };
}

export type Partner = ReturnType<typeof createPartner>;

/** A bank in this process and its partner; `close` stops the bank. */
export async function startBankWithPartner(
  now: () => number = Date.now,
  changes: Partial<BankSettings> = {},
): Promise<{ bank: RunningBank; partner: Partner; close: () => Promise<void> }> {
  const keys = rsaKeys();
  const settings = { ...partnerSettings(keys), ...changes };
  const bank = await startBank(settings, now);
  return { bank, partner: createPartner(bank.baseUrl, settings, keys, now), close: () => bank.close() };
}

/** Requests of the partner: `requestToken` and `authorize` for tokens, `send` for signed transaction requests. */
export function createPartner(
  baseUrl: string,
  settings: BankSettings,
  keys: RsaKeys,
  now = Date.now,
  tokenPath = TOKEN_PATH,
) {
  let accessToken = '';
  let externalIds = 0;

  function timestamp(): string {
    return new Date(now()).toISOString().replace(/\.\d{3}Z$/, 'Z');
  }

  async function requestToken(change: Change = {}): Promise<BankResponse> {
    const time = change.headers?.['X-TIMESTAMP'] ?? timestamp();
    const signed = Buffer.from(`${settings.clientKey}|${time}`);
    const headers = {
      'Content-Type': 'application/json',
      'X-TIMESTAMP': time,
      'X-CLIENT-KEY': settings.clientKey,
      'X-SIGNATURE': sign('RSA-SHA256', signed, keys.privateKey).toString('base64'),
    };
    const body = change.bodySent ?? change.bodyText ?? '{"grantType":"client_credentials"}';
    return post(baseUrl + tokenPath, { ...headers, ...change.headers }, body, change.signal);
  }

  async function authorize(change: Change = {}): Promise<string> {
    const { fields } = await requestToken(change);
    accessToken = String(fields['accessToken']);
    return accessToken;
  }

  function symmetricSignature(endpoint: string, minifiedBody: string | Uint8Array, time: string): string {
    const bodyHash = createHash('sha256').update(minifiedBody).digest('hex').toLowerCase();
    return createHmac('sha512', settings.clientSecret)
      .update(['POST', endpoint, accessToken, bodyHash, time].join(':'))
      .digest('base64');
  }

  /** Sends a request that is valid except for what `change` replaces; the token comes from `authorize`. */
  async function send(endpoint: string, fields: object, change: Change = {}): Promise<BankResponse> {
    const body = change.bodyText ?? JSON.stringify(fields);
    const time = change.headers?.['X-TIMESTAMP'] ?? timestamp();
    externalIds += 1;
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${accessToken}`,
      'X-TIMESTAMP': time,
      'X-SIGNATURE': symmetricSignature(endpoint, body, time),
      'X-PARTNER-ID': settings.partnerId,
      'X-EXTERNAL-ID': String(externalIds),
      'CHANNEL-ID': settings.channelId,
    };
    return post(baseUrl + endpoint, { ...headers, ...change.headers }, change.bodySent ?? body, change.signal);
  }

  return { settings, requestToken, authorize, send, timestamp, symmetricSignature };
}

async function post(
  url: string,
  headers: HeaderChanges,
  body: string | Uint8Array<ArrayBuffer>,
  signal?: AbortSignal,
): Promise<BankResponse> {
  const present = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, {
    method: 'POST',
    headers: present,
    // Bytes, because fetch would add a Content-Type to a string.
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
    signal: signal ?? AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, fields: parseFields(text) };
}

function parseFields(text: string): Readonly<Record<string, unknown>> {
  return text.startsWith('{') ? JSON.parse(text) : {};
}

/** HTTP status, response code and message in one line, for comparison. */
export function outcomeOf(response: BankResponse): string {
  return [response.status, response.fields['responseCode'], response.fields['responseMessage']].join(' ');
}
