import { stringifyExact } from './decimal.ts';
import type { Callback, Transaction } from './generated/api.ts';

/** For tests of your own receiver of callbacks: makes and signs callbacks as the service does. */

/** A secret of an endpoint, for tests. */
export const TEST_SECRET = 'whsec_VGliYSB0ZXN0IHNlY3JldCwgbm90IHJlYWwgMTIzNDU=';

export interface SignOptions {
  /** `webhook-id`; as the service makes it unless given. */
  readonly id?: string | undefined;
  /** When it is sent; now unless given. */
  readonly sentAt?: Date | undefined;
}

export interface SignedCallback {
  readonly headers: {
    readonly 'content-type': 'application/json';
    readonly 'webhook-id': string;
    readonly 'webhook-timestamp': string;
    readonly 'webhook-signature': string;
  };
  /** Send these bytes unchanged. */
  readonly body: string;
}

/** Headers and body of a callback. With several secrets it has several signatures, as while a secret is rotated. */
export async function signCallback(
  callback: Callback,
  secrets: string | readonly string[] = TEST_SECRET,
  { id = idOf(callback), sentAt = new Date() }: SignOptions = {},
): Promise<SignedCallback> {
  const body = stringifyExact(callback);
  const timestamp = String(Math.floor(sentAt.getTime() / 1_000));
  const message = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const each = typeof secrets === 'string' ? [secrets] : secrets;
  const signatures = await Promise.all(each.map((secret) => signatureOf(secret, message)));
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    },
    body,
  };
}

async function signatureOf(secret: string, message: Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = Uint8Array.from(atob(secret.replace('whsec_', '')), (character) => character.charCodeAt(0));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, message);
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}

function idOf({ data, version }: Callback): string {
  if ('transaction_id' in data) return `evt_${data.transaction_id}_${version}`;
  if ('validation_id' in data) return `evt_${data.validation_id}_${version}`;
  return `evt_${data.bic ?? data.bank_code}_${version}`;
}

/** A transaction that has arrived, changed as you say. */
export const exampleTransaction = (changes: Partial<Transaction> = {}): Transaction => ({
  transaction_id: 'TB2026112100000001',
  reference_id: 'INV/2026/001',
  status: 'SUCCESS',
  amount: '150000.00',
  fee: '2500.00',
  total_amount: '152500.00',
  bank_code: '014',
  bank_name: 'Bank Central Asia',
  account_number: '1234567890',
  account_name: 'BUDI SANTOSO',
  description: 'Refund of order 2026-001',
  created_at: '2026-11-21T04:32:26.123Z',
  processed_at: '2026-11-21T04:32:31.402Z',
  failure_reason: null,
  ...changes,
});

/** The callback of a transaction in its final status. */
export const disbursementCallback = (changes: Partial<Transaction> = {}, version = 2): Callback => {
  const data = exampleTransaction(changes);
  const type = data.status === 'FAILED' ? 'disbursement.failed' : 'disbursement.succeeded';
  return { type, timestamp: data.processed_at ?? data.created_at, version, data };
};
