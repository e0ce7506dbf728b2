import { noteAnswer } from './described-answers.ts';

/**
 * Requests over HTTP and what they contain. Apart from service.ts, because that loads the whole service, which takes a
 * second of processor time: a test of a service in another process does without.
 */

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed envelope. Amounts become inexact here; `text` keeps them exact. */
  readonly json: Envelope;
}

export interface Envelope {
  readonly success: boolean;
  readonly message: string;
  readonly data?: Record<string, unknown>;
  readonly meta?: { readonly timestamp: string };
  readonly error_code?: string;
}

/** The scopes of a client that uses the whole public API. */
export const CLIENT_SCOPES = [
  'status:read',
  'transactions:read',
  'account:check',
  'events:read',
  'callbacks:manage',
] as const;

/** A complete first status update of a transaction of alpha. */
export const statusUpdate = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  client_id: 'alpha',
  transaction_id: 'TB0000000001',
  reference_id: 'INV/2026/001',
  status: 'PROCESS',
  amount: '150000.00',
  fee: '2500.00',
  bank_code: '014',
  account_number: '1234567890',
  account_name: 'BUDI SANTOSO',
  description: 'Refund',
  created_at: '2026-11-21T04:32:26.123Z',
  ...changes,
});

export async function send(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  noteAnswer(url, init.method ?? 'GET', response, text);
  return { status: response.status, headers: response.headers, text, json: parseEnvelope(text) };
}

function parseEnvelope(text: string): Envelope {
  try {
    return JSON.parse(text) as Envelope;
  } catch {
    return { success: false, message: `not JSON: ${text.slice(0, 200)}` };
  }
}
