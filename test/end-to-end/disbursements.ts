import { setTimeout as delay } from 'node:timers/promises';
import { statusUpdate } from '../support/service.ts';
import type { Caller } from './caller.ts';
import type { BankAnswer } from './messages.ts';

/** A transaction whose end is known in advance, so that nobody has to be asked what became of it. */
export interface Disbursement {
  readonly transactionId: string;
  readonly outcome: 'SUCCESS' | 'FAILED';
  /** Its core says how it ended; otherwise only its bank does, when it is asked. */
  readonly outcomeIsFed: boolean;
  /** What its core has been told is known: the service must never know less. */
  acknowledged: 'nothing' | 'PROCESS' | 'its end';
}

/** Every fourth one fails, and as many are left to their bank. */
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

/** The bank knows it by the reference, which begins with how it ends. */
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

/** How a core feeds its disbursements, whatever becomes of the service. */
export interface FeedOptions {
  readonly core: Caller;
  readonly clientId: string;
  /** Resolves when the next batch, at this part (0 to 1) of them all, may begin. */
  readonly waitForTurn: (part: number) => Promise<void>;
  /** Words that were acknowledged, and batches that had to be sent again. */
  readonly counts: { updates: number; retries: number };
  /** Nobody needs it any more. */
  readonly signal: AbortSignal;
}

const BATCH = 20;
const RETRY_MS = 20;

/** In batches: that some begin and that those before them end. What is not acknowledged is sent again. */
export async function feedAll(disbursements: readonly Disbursement[], feeding: FeedOptions): Promise<void> {
  const { clientId, waitForTurn } = feeding;
  let previous: readonly Disbursement[] = [];
  for (let start = 0; start < disbursements.length + BATCH; start += BATCH) {
    await waitForTurn(start / disbursements.length);
    const batch = disbursements.slice(start, start + BATCH);
    const ended = previous.filter(({ outcomeIsFed }) => outcomeIsFed);
    const updates = [
      ...ended.map((each) => finalUpdate(each, clientId)),
      ...batch.map((each) => firstUpdate(each, clientId)),
    ];
    if (updates.length > 0) await untilAcknowledged(updates, feeding);
    for (const each of ended) each.acknowledged = 'its end';
    for (const each of batch) each.acknowledged = 'PROCESS';
    previous = batch;
  }
}

async function untilAcknowledged(updates: readonly unknown[], { core, counts, signal }: FeedOptions): Promise<void> {
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
