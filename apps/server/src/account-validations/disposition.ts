import type { CheckOutcome } from '../account-checks/account-checks.ts';
import { accountNameOf } from '../domain/account.ts';
import type { NewResult } from '../postgres/account-validation-results.ts';
import { isNotSent } from '../rails/rail.ts';

/** What becomes of a row that was taken to be asked about. */
export type RowDisposition =
  | {
      readonly kind: 'result';
      readonly result: Omit<NewResult, 'clientId' | 'validationId' | 'rowNumber' | 'checkedAt'>;
    }
  /** No bank was asked: it waits on. `holdMs`: its client has to wait, with the whole job. */
  | { readonly kind: 'wait'; readonly holdMs: number | null };

/**
 * Each account is asked about once. What the bank did not answer ends without a verdict, and so does what no rail will
 * ever be asked; what did not go out yet waits on.
 */
export function dispositionOf(outcome: CheckOutcome): RowDisposition {
  switch (outcome.kind) {
    case 'verdict': {
      const { verdict } = outcome;
      return { kind: 'result', result: { result: verdict.status, accountName: accountNameOf(verdict), message: null } };
    }
    case 'no_verdict':
      if (outcome.reason === 'no_rail') return NO_RAIL;
      if (outcome.reason === 'rejected_by_bank') return QUESTION_REFUSED;
      return isNotSent(outcome.reason) ? { kind: 'wait', holdMs: null } : NO_VERDICT;
    case 'blocked':
      return { kind: 'wait', holdMs: outcome.retryAfterMs };
  }
}

const withoutVerdict = (message: string): Extract<RowDisposition, { kind: 'result' }> => ({
  kind: 'result',
  result: { result: 'SERVICE_UNAVAILABLE', accountName: null, message },
});

export const NO_VERDICT = withoutVerdict(
  'The bank gave no verdict, which says nothing about the account: check it again by itself',
);

const NO_RAIL = withoutVerdict(
  'Accounts of this bank cannot be checked here, so it was not asked: check_account of GET /api/v1/banks says at which banks they can',
);

const QUESTION_REFUSED = withoutVerdict(
  'The bank takes no question about this account number, which says nothing about the account: make sure that the number is right',
);

/** It may have been asked about, so it is not asked about again. */
export const ABANDONED = withoutVerdict(
  'The service was interrupted while the bank was being asked, which says nothing about the account: check it again by itself',
);
