import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { eventually } from '../support/eventually.ts';
import { statusUpdate } from '../support/requests.ts';
import type { TestService } from '../support/service.ts';

export interface CreatedTransaction {
  readonly transactionId: string;
  readonly referenceId: string;
  readonly path: string;
  readonly referencePath: string;
}

/** As of now: one that is overdue has an event of its own some time during the tests. */
const update = (id: string, changes: Record<string, unknown>) =>
  statusUpdate({
    transaction_id: id,
    reference_id: `ref/${id}`,
    created_at: new Date().toISOString(),
    ...changes,
  });

/** Creates a transaction of alpha in PROCESS that no other test uses. */
export async function createTransaction(
  service: TestService,
  changes: Record<string, unknown> = {},
): Promise<CreatedTransaction> {
  const transactionId = `TW${randomInt(1_000_000_000)}${randomInt(1_000_000)}`.padEnd(12, '0');
  const answer = await service.feed(update(transactionId, changes));
  assert.equal(answer.json.data?.['inserted'], 1, answer.text);
  const referenceId = `ref/${transactionId}`;
  return {
    transactionId,
    referenceId,
    path: `/api/v1/check-status/${transactionId}`,
    referencePath: `/api/v1/check-status?reference_id=${encodeURIComponent(referenceId)}`,
  };
}

export async function feedChange(
  service: TestService,
  { transactionId }: CreatedTransaction,
  changes: Record<string, unknown>,
) {
  const answer = await service.feed({ client_id: 'alpha', transaction_id: transactionId, ...changes });
  assert.equal(answer.json.data?.['advanced'], 1, answer.text);
}

export const until = (condition: () => boolean | Promise<boolean>, what: string): Promise<void> =>
  eventually(what, condition);
