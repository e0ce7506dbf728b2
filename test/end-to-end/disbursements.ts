import { setTimeout as delay } from 'node:timers/promises';
import { statusUpdate } from '../support/requests.ts';
import type { Caller } from './caller.ts';
import type { BankAnswer } from './messages.ts';

/** A transaction whose outcome is decided in advance, so that a test can check it without asking the service. */
export interface Disbursement {
  readonly transactionId: string;
  readonly outcome: 'SUCCESS' | 'FAILED';
  /** The core feeds the outcome; otherwise only its bank reports it, when it is inquired. */
  readonly outcomeIsFed: boolean;
  /** What the service has acknowledged to the core: it must never report less. */
  acknowledged: 'nothing' | 'PROCESS' | 'its outcome';
}

/** Every fourth one fails, and for as many only the bank reports the outcome. */
export const createDisbursements = (count: number): Disbursement[] =>
  Array.from({ length: count }, (_, index) => ({
    transactionId: `TK${String(index).padStart(8, '0')}`,
    outcome: index % 4 === 0 ? 'FAILED' : 'SUCCESS',
    outcomeIsFed: index % 16 < 12,
    acknowledged: 'nothing',
  }));

export const RAIL = 'bank';
const REASON = 'ACCOUNT_NOT_FOUND';

const SUCCEEDED: BankAnswer = { kind: 'status', status: 'SUCCESS', railCode: '00' };
const FAILED: BankAnswer = { kind: 'status', status: 'FAILED', failureReason: REASON, railCode: '06' };

/** The bank's answer follows from the reference, which begins with the outcome. */
export const bankAnswer = (reference: string): BankAnswer => (reference.startsWith('SUCCESS') ? SUCCEEDED : FAILED);

const firstUpdate = (
  { transactionId, outcome, outcomeIsFed }: Disbursement,
  clientId: string,
): Record<string, unknown> =>
  statusUpdate({
    client_id: clientId,
    transaction_id: transactionId,
    reference_id: transactionId,
    created_at: new Date().toISOString(),
    ...(outcomeIsFed ? {} : { rail: RAIL, rail_reference: `${outcome}-${transactionId}` }),
  });

const finalUpdate = ({ transactionId, outcome }: Disbursement, clientId: string): Record<string, unknown> => ({
  client_id: clientId,
  transaction_id: transactionId,
  status: outcome,
  ...(outcome === 'FAILED' ? { failure_reason: REASON } : {}),
});

/** How the core feeds its disbursements while the service is killed and restarted. */
export interface FeedOptions {
  readonly core: Caller;
  readonly clientId: string;
  /** Resolves when the batch at this fraction (0 to 1) of all disbursements may begin. */
  readonly waitForTurn: (fraction: number) => Promise<void>;
  /** How many updates were acknowledged, and how many batches were sent again. */
  readonly counts: { updates: number; retries: number };
  /** Aborted when the test is over. */
  readonly signal: AbortSignal;
}

const BATCH = 20;
const RETRY_MS = 20;

/**
 * Feeds in batches: the first updates of some disbursements and the final updates of those of the batch before. A batch
 * that is not acknowledged is sent again.
 */
export async function feedAll(disbursements: readonly Disbursement[], options: FeedOptions): Promise<void> {
  const { clientId, waitForTurn } = options;
  let previous: readonly Disbursement[] = [];
  for (let start = 0; start < disbursements.length + BATCH; start += BATCH) {
    await waitForTurn(start / disbursements.length);
    const batch = disbursements.slice(start, start + BATCH);
    const ended = previous.filter(({ outcomeIsFed }) => outcomeIsFed);
    const updates = [
      ...ended.map((each) => finalUpdate(each, clientId)),
      ...batch.map((each) => firstUpdate(each, clientId)),
    ];
    if (updates.length > 0) await feedUntilAcknowledged(updates, options);
    for (const each of ended) each.acknowledged = 'its outcome';
    for (const each of batch) each.acknowledged = 'PROCESS';
    previous = batch;
  }
}

async function feedUntilAcknowledged(
  updates: readonly unknown[],
  { core, counts, signal }: FeedOptions,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await core.feed(updates).catch(() => null);
    if (answer?.status === 200) {
      const { conflicts, rejected } = answer.json.data as { conflicts: unknown[]; rejected: unknown[] };
      if (conflicts.length + rejected.length > 0) throw new Error(answer.text);
      counts.updates += updates.length;
      return;
    }
    if (answer !== null && answer.status !== 503) throw new Error(answer.text);
    counts.retries += 1;
    await delay(RETRY_MS);
  }
}
