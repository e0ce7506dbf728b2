import { randomInt } from 'node:crypto';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { DemoCore, NewDisbursement } from './demo-core.ts';
import { DEMO_CLIENTS } from './demo-data.ts';

/** A disbursement every few seconds, so that the console of a new sandbox has something that moves. */
export interface DemoTraffic {
  stop(): Promise<void>;
}

const INTERVAL_MS = 15_000;
/** An hour of them: a sandbox that is left running does not fill the disk. */
const DISBURSEMENTS_MAX = 240;

/** The ends of account numbers, for which the simulated bank has a scenario (docs/simulated-bank.md, "Endings"). */
const ENDINGS = [
  '2020',
  '1001',
  '7660',
  '4411',
  '1002',
  '3603',
  '7604',
  '2030',
  '1003',
  '3607',
  '4315',
  '1004',
] as const;
const PURPOSES = ['Refund', 'Salary', 'Payment of an invoice', 'Withdrawal'] as const;
const BANKS = ['014', '008', '002', '009'] as const;

export function startDemoTraffic(core: Pick<DemoCore, 'disburse'>, log: Pick<Log, 'warn' | 'info'>): DemoTraffic {
  let ordered = 0;
  const repetition = repeat(
    INTERVAL_MS,
    async () => {
      if (ordered === DISBURSEMENTS_MAX) return;
      await core.disburse(demoDisbursement(ordered));
      ordered += 1;
    },
    createFailureLog(log, 'ordering a demo disbursement failed; will retry'),
  );
  repetition.now();
  return { stop: repetition.stop };
}

/** Endings, banks and clients in turn: each kind of outcome appears within three minutes. */
function demoDisbursement(index: number): NewDisbursement {
  const inTurn = <T>(values: readonly [T, ...T[]]): T => values[index % values.length] ?? values[0];
  const bankCode = inTurn(BANKS);
  return {
    clientId: inTurn([DEMO_CLIENTS.shop, DEMO_CLIENTS.shop, DEMO_CLIENTS.payroll]).clientId,
    referenceId: `DEMO-${Date.now().toString(36)}`.toUpperCase(),
    amount: `${randomInt(10, 5_000) * 500}.00`,
    bankCode,
    // Ten digits, as every account of the simulated bank itself has.
    accountNumber: `${String(randomInt(1_000_000)).padStart(6, '0')}${inTurn(ENDINGS)}`,
    accountName: null,
    description: inTurn(PURPOSES),
  };
}
