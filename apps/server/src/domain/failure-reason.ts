/**
 * The failure reasons of disbursements as clients see them (docs/contract.md 2.2, `failure_reason`). Programs read the
 * code before the colon, people read the sentences after it.
 *
 * The published text is stored with each transaction. A reworded sentence differs from the stored ones, and a feed that
 * sends an old text has it replaced with OTHER. Add codes, but do not change existing entries after a release.
 */

/** Who can prevent it from happening again. */
export type Fault = 'recipient' | 'sender' | 'bank' | 'operator';

interface Description {
  readonly happened: string;
  readonly fault: Fault;
  readonly remedy: string;
}

export const FAILURE_REASONS = {
  ACCOUNT_NOT_FOUND: {
    happened: 'The recipient account does not exist',
    fault: 'recipient',
    remedy: 'Correct the account number and disburse again',
  },
  ACCOUNT_INACTIVE: {
    happened: 'The recipient account is inactive or closed',
    fault: 'recipient',
    remedy: 'Ask the recipient for another account',
  },
  ACCOUNT_DORMANT: {
    happened: 'The recipient account is dormant',
    fault: 'recipient',
    remedy: 'Ask the recipient to have the bank reactivate it, or for another account',
  },
  ACCOUNT_BLOCKED: {
    happened: 'The recipient account is blocked or suspended',
    fault: 'recipient',
    remedy: 'Ask the recipient to settle it with the bank, or for another account',
  },
  NAME_MISMATCH: {
    happened: 'The account does not belong to the named recipient',
    fault: 'recipient',
    remedy: 'Check the account, correct the name or the number, and disburse again',
  },
  AMOUNT_LIMIT_EXCEEDED: {
    happened: 'The amount exceeds a limit of the bank or of the account',
    fault: 'sender',
    remedy: 'Disburse in smaller amounts or on another day',
  },
  ACTIVITY_LIMIT_EXCEEDED: {
    happened: 'There were more transfers than the bank allows in a time',
    fault: 'sender',
    remedy: 'Disburse again later',
  },
  INSUFFICIENT_FUNDS: {
    happened: 'The balance that disbursements are paid from was too low',
    fault: 'sender',
    remedy: 'Top it up and disburse again',
  },
  SUSPECTED_FRAUD: {
    happened: 'The bank stopped the transfer because it suspects fraud',
    fault: 'bank',
    remedy: 'Do not disburse again before you have talked to the recipient and to us',
  },
  BANK_UNAVAILABLE: {
    happened: "The recipient's bank could not be reached",
    fault: 'bank',
    remedy: 'Disburse again later',
  },
  BANK_NOT_SUPPORTED: {
    happened: "The recipient's bank cannot be paid to on this way",
    fault: 'operator',
    remedy: 'Ask the recipient for an account at another bank',
  },
  CUT_OFF: {
    happened: 'The bank takes no transfers at this time of day',
    fault: 'bank',
    remedy: 'Disburse again after the cut-off',
  },
  CANCELLED: {
    happened: 'The transfer was cancelled before it was paid',
    fault: 'operator',
    remedy: 'Disburse again if it is still wanted',
  },
  REFUNDED: {
    happened: 'The bank gave the money back',
    fault: 'bank',
    remedy: 'Check the account and disburse again',
  },
  DUPLICATE: {
    happened: 'The bank took it for the repetition of another transfer',
    fault: 'operator',
    remedy: 'Look for the other one before you disburse again',
  },
  REJECTED_BY_BANK: {
    happened: 'The bank refused the transfer without a reason that is known here',
    fault: 'bank',
    remedy: 'Ask us before you disburse again',
  },
  OTHER: {
    happened: 'It failed for a reason that has no code of its own',
    fault: 'operator',
    remedy: 'Ask us for the details before you disburse again',
  },
} as const satisfies Record<string, Description>;

export type FailureReason = keyof typeof FAILURE_REASONS;

/** `CODE: What happened. What to do.` */
export function publishedReason(reason: FailureReason): string {
  const { happened, remedy } = FAILURE_REASONS[reason];
  return `${reason}: ${happened}. ${remedy}.`;
}

/** The reason of a code or of a whole published text; OTHER for anything else. */
export function readFailureReason(text: string): FailureReason {
  const [code = ''] = text.split(':', 1);
  if (!isFailureReason(code)) return 'OTHER';
  return text === code || text === publishedReason(code) ? code : 'OTHER';
}

const isFailureReason = (text: string): text is FailureReason => Object.hasOwn(FAILURE_REASONS, text);
