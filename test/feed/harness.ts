import assert from 'node:assert/strict';
import type { FeedReport } from '../../apps/server/src/feed/report.ts';
import { listStatusUpdates } from '../../apps/server/src/postgres/status-updates.ts';
import type { Answer, TestService } from '../support/service.ts';

/** Posts to the feed as the disbursement core; `body` goes out byte for byte. */
export async function post(
  service: TestService,
  body: string | Buffer,
  {
    type = 'application/x-ndjson',
    token = service.core.token,
    headers = {},
  }: { type?: string | null; token?: string | null; headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const response = await fetch(`${service.operatorUrl}/feed/v1/transactions`, {
    method: 'POST',
    headers: {
      ...headers,
      ...(type === null ? {} : { 'content-type': type }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    // As bytes, so that fetch adds no content type of its own.
    body: Buffer.from(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

/** The report of a feed that was answered with 200, by a service whose database was never restored. */
export function reportOf(answer: Answer): FeedReport {
  assert.equal(answer.status, 200, answer.text);
  const { restored_at: restoredAt, restored_to: restoredTo, ...report } = answer.json.data ?? {};
  assert.deepEqual([restoredAt, restoredTo], [null, null], answer.text);
  return report as unknown as FeedReport;
}

/** The report of a feed with these results and no others. */
export const only = (report: Partial<FeedReport>): FeedReport => ({
  inserted: 0,
  advanced: 0,
  unchanged: 0,
  conflicts: [],
  rejected: [],
  differences: [],
  unlisted: 0,
  ...report,
});

/** Returns a new transaction ID with each call. */
export function createIds(prefix: string): () => string {
  let count = 0;
  return () => `${prefix}${String((count += 1)).padStart(10, '0')}`;
}

export interface StoredStatusUpdate {
  readonly source: string;
  readonly raw: string;
  readonly outcome: string;
  readonly reason: string | null;
}

/** In the order in which they were stored. */
export async function statusUpdatesOf(
  service: TestService,
  transactionId: string,
  clientId = 'alpha',
): Promise<StoredStatusUpdate[]> {
  const updates = await listStatusUpdates(service.app.database, { clientId, transactionId }, 1_000);
  // The clock may mark it overdue in the meantime.
  return updates.flatMap(({ source, raw, outcome, reason }) =>
    source === null || raw === null || source === 'clock' ? [] : [{ source, raw, outcome, reason }],
  );
}

export const outcomesOf = async (service: TestService, transactionId: string): Promise<string[]> =>
  (await statusUpdatesOf(service, transactionId)).map(({ outcome }) => outcome);

/** `data` of check-status, as text: amounts keep their exactness. */
export async function statusOf(service: TestService, transactionId: string): Promise<string> {
  const answer = await service.get(`/api/v1/check-status/${transactionId}`);
  assert.equal(answer.status, 200, answer.text);
  return /"data":(\{.*\}),"meta"/.exec(answer.text)?.[1] ?? '';
}
