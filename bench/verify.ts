import assert from 'node:assert/strict';
import { transactionJson } from '../apps/server/src/domain/transaction.ts';
import { openDatabase } from '../apps/server/src/postgres/database.ts';
import { lockTransactions } from '../apps/server/src/postgres/transaction-locks.ts';
import type { BenchContext } from './bench-context.ts';
import type { BenchDatabase } from './database/databases.ts';
import { CLIENT_ID, REFERENCE_ID, TRANSACTION_ID } from './database/prototypes.ts';
import { NUMBER, NUMBER_DIGITS } from './load/load.ts';
import { type RecordedResponse, recordResponse } from './load/record.ts';
import { checkStatusBatchRequests, headers } from './requests.ts';
import type { Service } from './services.ts';

// Figures of a service with wrong responses are worth nothing, so each service is verified before it is measured.

const numbered = (template: string, number: number): string =>
  template.replace(NUMBER, String(number).padStart(NUMBER_DIGITS, '0'));

/** Requests some transactions, and compares the responses with the typed columns, rendered as the feed renders them. */
export async function verifyCheckStatus(
  context: BenchContext,
  service: Service,
  database: BenchDatabase,
): Promise<void> {
  const numbers = [0, 1, 2, 3, 4, Math.floor(database.rows / 2), database.rows - 1];
  const stored = await readTransactions(context, database, numbers);
  const get = (path: string) => request(service, path);
  for (const [transactionId, rendered] of stored) {
    const { status, text } = await get(`/api/v1/check-status/${transactionId}`);
    assert.equal(status, 200, text);
    assert.ok(text.startsWith(`{"success":true,"message":"Transaction found","data":${rendered},"meta":`), text);
  }
  const last = await get(
    `/api/v1/check-status?reference_id=${encodeURIComponent(numbered(REFERENCE_ID, database.rows - 1))}`,
  );
  assert.equal(last.status, 200, last.text);
  const beyond = await get(`/api/v1/check-status/${numbered(TRANSACTION_ID, database.rows)}`);
  assert.equal(beyond.status, 404, beyond.text);
}

/** Requests a batch, and compares its response in the same way. */
export async function verifyCheckStatusBatch(
  context: BenchContext,
  service: Service,
  database: BenchDatabase,
): Promise<void> {
  const stored = await readTransactions(context, database, [0, 1, 2, 3, 4, database.rows - 1]);
  const {
    method,
    path,
    headers: sent,
  } = checkStatusBatchRequests(service.address.publicUrl, service.address.token, database);
  const ids = [...stored.keys()];
  const response = await fetch(service.address.publicUrl + path, {
    method,
    headers: sent,
    body: JSON.stringify({ ids }),
  });
  const text = await response.text();
  const results = [...stored].map(([id, rendered]) => `{"id":"${id}","version":1,"transaction":${rendered}}`);
  assert.ok(text.includes(`"data":{"results":[${results.join()}]},`), text);
}

/** The rendered transactions, by transaction ID. */
async function readTransactions(
  context: BenchContext,
  { connectionString }: BenchDatabase,
  numbers: readonly number[],
): Promise<Map<string, string>> {
  const database = openDatabase({ connection: { connectionString }, connectionsMax: 1, log: context.log });
  try {
    const keys = numbers.map((number) => ({ clientId: CLIENT_ID, transactionId: numbered(TRANSACTION_ID, number) }));
    const transactions = await database.transaction((query) => lockTransactions(query, keys));
    assert.equal(transactions.length, new Set(keys.map(({ transactionId }) => transactionId)).size);
    return new Map(transactions.map((transaction) => [transaction.transactionId, transactionJson(transaction)]));
  } finally {
    await database.close();
  }
}

/** The baseline server must send the service's response: the same body and headers, except for the date. */
export async function verifyBaselineServer(url: string, recorded: RecordedResponse): Promise<void> {
  assert.deepEqual(await recordResponse(`${url}/anything`, {}), recorded);
}

export interface Inquiries {
  readonly sent: number;
  /** Answered by the inquiry of another check, without an inquiry of their own. */
  readonly shared: number;
}

/** How many inquiries to banks the service has counted so far. */
export async function countInquiries({ address }: Service): Promise<Inquiries> {
  const metrics = await (await fetch(`${address.operatorUrl}/metrics`)).text();
  const sum = (pattern: RegExp): number =>
    [...metrics.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    sent: sum(/^tiba_inquiries_total\{[^}]*outcome="ACTIVE"[^}]*\} (\d+)$/gm),
    shared: sum(/^tiba_inquiries_shared_total (\d+)$/gm),
  };
}

async function request(service: Service, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(service.address.publicUrl + path, { headers: headers(service.address.token) });
  return { status: response.status, text: await response.text() };
}
