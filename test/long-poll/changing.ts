import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { eventually } from '../support/eventually.ts';
import { statusUpdate, type TestService } from '../support/service.ts';

export interface TestTransaction {
  readonly transactionId: string;
  readonly referenceId: string;
  readonly path: string;
  readonly referencePath: string;
}

const words = (id: string, changes: Record<string, unknown>) =>
  statusUpdate({ transaction_id: id, reference_id: `ref/${id}`, ...changes });

/** A transaction of alpha in PROCESS that nobody else uses. */
export async function makeTransaction(
  service: TestService,
  changes: Record<string, unknown> = {},
): Promise<TestTransaction> {
  const transactionId = `TW${randomInt(1_000_000_000)}${randomInt(1_000_000)}`.padEnd(12, '0');
  const answer = await service.feed(words(transactionId, changes));
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
  { transactionId }: TestTransaction,
  changes: Record<string, unknown>,
) {
  const answer = await service.feed({ client_id: 'alpha', transaction_id: transactionId, ...changes });
  assert.equal(answer.json.data?.['advanced'], 1, answer.text);
}

export const until = (condition: () => boolean | Promise<boolean>, what: string): Promise<void> =>
  eventually(what, condition, 10_000);
