import { setTimeout as delay } from 'node:timers/promises';
import { word } from '../support/service.ts';
import type { Caller } from './caller.ts';
import type { BankAnswer } from './messages.ts';

/** A transaction whose end is known in advance, so that nobody has to be asked what became of it. */
export interface Disbursement {
  readonly transactionId: string;
  readonly ends: 'SUCCESS' | 'FAILED';
  /** Its core says how it ended; otherwise only its bank does, when it is asked. */
  readonly endIsFed: boolean;
  /** What its core has been told is known: the service must never know less. */
  acknowledged: 'nothing' | 'PROCESS' | 'its end';
}

/** Every fourth one fails, and as many are left to their bank. */
export const createDisbursements = (count: number): Disbursement[] =>
  Array.from({ length: count }, (_, index) => ({
    transactionId: `TK${String(index).padStart(8, '0')}`,
    ends: index % 4 === 0 ? 'FAILED' : 'SUCCESS',
    endIsFed: index % 16 < 12,
    acknowledged: 'nothing',
  }));

export const RAIL = 'bank';
const REASON = 'ACCOUNT_NOT_FOUND';

const SUCCEEDED: BankAnswer = { kind: 'status', status: 'SUCCESS', railCode: '00' };
const FAILED: BankAnswer = { kind: 'status', status: 'FAILED', failureReason: REASON, railCode: '06' };

/** The bank knows it by the reference, which begins with how it ends. */
export const bankAnswer = (reference: string): BankAnswer => (reference.startsWith('SUCCESS') ? SUCCEEDED : FAILED);

const beginning = ({ transactionId, ends, endIsFed }: Disbursement, clientId: string): Record<string, unknown> =>
  word({
    client_id: clientId,
    transaction_id: transactionId,
    reference_id: transactionId,
    created_at: new Date().toISOString(),
    ...(endIsFed ? {} : { rail: RAIL, rail_reference: `${ends}-${transactionId}` }),
  });

const ending = ({ transactionId, ends }: Disbursement, clientId: string): Record<string, unknown> => ({
  client_id: clientId,
  transaction_id: transactionId,
  status: ends,
  ...(ends === 'FAILED' ? { failure_reason: REASON } : {}),
});

/** How a core feeds its disbursements, whatever becomes of the service. */
export interface Feeding {
  readonly core: Caller;
  readonly clientId: string;
  /** Resolves when the next batch, at this part (0 to 1) of them all, may begin. */
  readonly mayGoOn: (part: number) => Promise<void>;
  /** Words that were acknowledged, and batches that had to be sent again. */
  readonly counts: { words: number; again: number };
  /** Nobody needs it any more. */
  readonly over: AbortSignal;
}

const BATCH = 20;
const RETRY_MS = 20;

/** In batches: that some begin and that those before them end. What is not acknowledged is sent again. */
export async function feedAll(disbursements: readonly Disbursement[], feeding: Feeding): Promise<void> {
  const { clientId, mayGoOn } = feeding;
  let begun: readonly Disbursement[] = [];
  for (let at = 0; at < disbursements.length + BATCH; at += BATCH) {
    await mayGoOn(at / disbursements.length);
    const batch = disbursements.slice(at, at + BATCH);
    const ended = begun.filter(({ endIsFed }) => endIsFed);
    const words = [...ended.map((each) => ending(each, clientId)), ...batch.map((each) => beginning(each, clientId))];
    if (words.length > 0) await untilAcknowledged(words, feeding);
    for (const each of ended) each.acknowledged = 'its end';
    for (const each of batch) each.acknowledged = 'PROCESS';
    begun = batch;
  }
}

async function untilAcknowledged(words: readonly unknown[], { core, counts, over }: Feeding): Promise<void> {
  for (;;) {
    over.throwIfAborted();
    const answer = await core.feed(words).catch(() => null);
    if (answer?.status === 200) {
      const { conflicts, rejected } = answer.json.data as { conflicts: unknown[]; rejected: unknown[] };
      if (conflicts.length + rejected.length > 0) throw new Error(answer.text);
      counts.words += words.length;
      return;
    }
    if (answer !== null && answer.status !== 503) throw new Error(answer.text);
    counts.again += 1;
    await delay(RETRY_MS);
  }
}
