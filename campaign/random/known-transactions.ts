import type { Canaries } from './canaries.ts';
import { OWNERS, type Owner } from './clients.ts';
import type { Draws } from './draws.ts';

/** What the feed says about a transaction. */
export interface Step {
  readonly status: 'PROCESS' | 'SUCCESS' | 'FAILED';
  /** A reversal after SUCCESS. */
  readonly reversed: boolean;
}

export interface KnownTransaction {
  readonly owner: Owner;
  readonly transactionId: string;
  readonly referenceId: string;
  /** Decimal, with two places. */
  readonly amount: string;
  readonly fee: string;
  readonly bankCode: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly createdAt: string;
  /** At the bank, which does not know it: it must stay in PROCESS until the feed says more. Null without a rail. */
  readonly railReference: string | null;
  /** Its status updates, in the order in which they are sent. */
  readonly plan: readonly Step[];
  /** How many of them were acknowledged, and how many were sent, which may be one more. */
  acknowledged: number;
  sent: number;
  /** The highest version that an answer has shown. */
  seenVersion: number;
}

export interface KnownTransactions {
  readonly all: readonly KnownTransaction[];
  find(transactionId: string): KnownTransaction | undefined;
  /** Plans a new one. */
  add(): KnownTransaction;
}

const PLANS: readonly (readonly Step[])[] = [
  [step('PROCESS')],
  [step('PROCESS'), step('SUCCESS')],
  [step('PROCESS'), step('SUCCESS')],
  [step('PROCESS'), step('FAILED')],
  [step('PROCESS'), step('SUCCESS'), { status: 'SUCCESS', reversed: true }],
  [step('SUCCESS')],
  [step('FAILED')],
  [step('SUCCESS'), { status: 'SUCCESS', reversed: true }],
];
export const BANK_CODES = ['014', '008', '009', '002'] as const;

export const REVERSED_AT = '2026-01-02T03:04:05.000Z';

export function createKnownTransactions(draws: Draws, canaries: Canaries): KnownTransactions {
  const all: KnownTransaction[] = [];
  const byId = new Map<string, KnownTransaction>();
  return {
    all,
    find: (transactionId) => byId.get(transactionId),
    add() {
      const number = String(all.length + 1);
      const transaction: KnownTransaction = {
        owner: draws.pick(OWNERS),
        transactionId: `CAM${number.padStart(7, '0')}`,
        referenceId: draws.pick([`ref-${number}`, `INV/2026/${number}`, `pénerima ${number} 🏦`, `a+b %20 ${number}`]),
        amount: `${draws.between(1, 10 ** draws.between(1, 15))}.${draws.digits(2)}`,
        fee: `${draws.below(5_000)}.${draws.digits(2)}`,
        bankCode: draws.pick(BANK_CODES),
        accountNumber: canaries.accountNumber(),
        accountName: canaries.accountName(),
        createdAt: new Date().toISOString(),
        railReference: draws.chance(0.2) ? `campaign${number}` : null,
        plan: draws.pick(PLANS),
        acknowledged: 0,
        sent: 0,
        seenVersion: 0,
      };
      all.push(transaction);
      byId.set(transaction.transactionId, transaction);
      return transaction;
    },
  };
}

/** The event of each step by its kind; null where a step causes none. */
const EVENT_KINDS = { SUCCESS: 'disbursement.succeeded', FAILED: 'disbursement.failed', PROCESS: null } as const;

/** The events of the first `steps` steps, with their versions. */
export function eventsAfter({ plan, transactionId }: KnownTransaction, steps: number) {
  // A transaction that begins in PROCESS has version 1 before its first event.
  let version = plan[0]?.status === 'PROCESS' ? 1 : 0;
  return plan.slice(0, steps).flatMap(({ status, reversed }) => {
    const kind = reversed ? 'disbursement.reversed' : EVENT_KINDS[status];
    if (kind === null) return [];
    version += 1;
    return [{ eventId: `evt_${transactionId}_${version}`, kind, version }];
  });
}

/** The version and the status after that many steps; null before the first. */
export function stateAfter(transaction: KnownTransaction, steps: number) {
  const last = transaction.plan[steps - 1];
  if (last === undefined) return null;
  const version = eventsAfter(transaction, steps).at(-1)?.version ?? 1;
  return { version, status: last.status };
}

function step(status: Step['status']): Step {
  return { status, reversed: false };
}
