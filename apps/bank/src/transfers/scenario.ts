import { findAccount } from '../accounts.ts';
import type { SnapCaseName } from '../snap/response-codes.ts';
import type { Transfer } from './transfer.ts';

/** The values of `latestTransactionStatus` (SNAP BI, service 36) that this bank uses. */
export const TRANSFER_STATUSES = {
  '00': 'Success',
  '03': 'Pending',
  '04': 'Refunded',
  '05': 'Canceled',
  '06': 'Failed',
  '07': 'Not found',
} as const;

export type TransferStatus = keyof typeof TRANSFER_STATUSES;

/** A status, and the time from the transfer's acceptance until it is reported. */
export interface Step {
  readonly afterSeconds: number;
  readonly status: TransferStatus;
}

/** The scripted outcome of a transfer. */
export interface TransferScenario {
  /** The last four digits of the beneficiary's account. */
  readonly ending: string;
  readonly outcome: string;
  /** The statuses of the status inquiry, each from its time on; before the first one the transfer is pending. */
  readonly inquiry: readonly Step[];
  readonly notifications: readonly Step[];
  /** Why the money did not stay with the beneficiary; reported with the failure statuses. */
  readonly reason: SnapCaseName | null;
}

const FINAL_AFTER_SECONDS = 2;
const PENDING: TransferStatus = '03';

/** The scenario of every account whose last four digits select no other one. */
export const DEFAULT_SCENARIO: TransferScenario = success('any other', 'success');

/**
 * The endings follow a pattern. 43cc, 44cc, 54cc: HTTP status 403, 404, 504 with SNAP's case code cc. 20xx: success
 * after xx. 36xx: the status inquiry (service 36) always reports xx. 76xx: about notifications (service 76).
 * docs/simulated-bank.md contains this table, row by row.
 */
export const TRANSFER_SCENARIOS: readonly TransferScenario[] = [
  success('2020', 'success after 20 seconds', 20),
  success('2030', 'success after 30 minutes', 30 * 60),
  failure('4411', 'account not found', '06', 'invalidAccount'),
  failure('4318', 'account inactive (closed)', '06', 'inactiveAccount'),
  failure('4309', 'account dormant', '06', 'dormantAccount'),
  failure('4305', 'account blocked', '06', 'doNotHonor'),
  failure('4315', 'name mismatch', '06', 'transactionNotPermitted'),
  failure('4302', 'amount over the limit', '06', 'exceedsAmountLimit'),
  failure('4314', 'insufficient funds at the sender', '06', 'insufficientFunds'),
  failure('4303', 'suspected fraud', '06', 'suspectedFraud'),
  failure('5400', "recipient's bank unavailable, timeout at the switch", '06', 'timeout'),
  failure('4404', 'cancelled', '05', 'transactionCancelled'),
  failure('4400', 'refunded', '04', 'invalidTransactionStatus'),
  { ...success('7600', 'success, notification lost'), notifications: [] },
  { ...success('7602', 'success, notification sent twice'), notifications: [step(2, '00'), step(2, '00')] },
  { ...success('7660', 'success, notification 60 seconds late'), notifications: [step(62, '00')] },
  {
    ...success('7606', 'success, then a notification that contradicts it'),
    notifications: [step(2, '00'), step(7, '06')],
    reason: 'doNotHonor',
  },
  {
    ending: '7604',
    outcome: 'success, reversed 5 seconds later',
    inquiry: [step(2, '00'), step(7, '04')],
    notifications: [step(2, '00'), step(7, '04')],
    reason: 'invalidTransactionStatus',
  },
  { ending: '3607', outcome: 'permanently not found', inquiry: [step(0, '07')], notifications: [], reason: null },
  { ending: '3603', outcome: 'permanently pending', inquiry: [step(0, '03')], notifications: [], reason: null },
];

const SCENARIOS_BY_ENDING: ReadonlyMap<string, TransferScenario> = new Map(
  TRANSFER_SCENARIOS.map((scenario) => [scenario.ending, scenario]),
);

/** An account that an inquiry rejects cannot receive money: a transfer to it follows the scenario of this ending. */
const ENDINGS_BY_ACCOUNT: ReadonlyMap<string, string> = new Map([
  ['not-found', '4411'],
  ['inactive', '4318'],
  ['blocked', '4305'],
]);

export function scenarioOf({ beneficiaryBankCode, beneficiaryAccountNo }: Transfer): TransferScenario {
  const { kind } = findAccount(beneficiaryBankCode, beneficiaryAccountNo);
  const ending = ENDINGS_BY_ACCOUNT.get(kind) ?? beneficiaryAccountNo.slice(-4);
  return SCENARIOS_BY_ENDING.get(ending) ?? DEFAULT_SCENARIO;
}

/** The status that the status inquiry reports for a transfer at a time of the clock of transfers. */
export function statusAt(transfer: Transfer, nowMs: number): TransferStatus {
  const ageSeconds = (nowMs - transfer.acceptedAtMs) / 1000;
  const current = scenarioOf(transfer).inquiry.findLast(({ afterSeconds }) => afterSeconds <= ageSeconds);
  return current?.status ?? PENDING;
}

/** Whether a status means that the money did not stay with the beneficiary; only such a status has a reason. */
export function isFailure(status: TransferStatus): boolean {
  return status === '04' || status === '05' || status === '06';
}

function step(afterSeconds: number, status: TransferStatus): Step {
  return { afterSeconds, status };
}

function success(ending: string, outcome: string, afterSeconds = FINAL_AFTER_SECONDS): TransferScenario {
  const steps = [step(afterSeconds, '00')];
  return { ending, outcome, inquiry: steps, notifications: steps, reason: null };
}

function failure(ending: string, outcome: string, status: TransferStatus, reason: SnapCaseName): TransferScenario {
  const steps = [step(FINAL_AFTER_SECONDS, status)];
  return { ending, outcome, inquiry: steps, notifications: steps, reason };
}
