import type { FailureReason } from '../../domain/failure-reason.ts';
import { ownProperty } from '../../lib/own-property.ts';

/** These can only be said of a payment. */
const OF_PAYMENTS: Readonly<Record<string, FailureReason>> = {
  U101: 'ACCOUNT_NOT_FOUND',
  U102: 'ACCOUNT_INACTIVE',
  U107: 'REJECTED_BY_BANK', // original payment rejected
  U110: 'REJECTED_BY_BANK', // payment not accepted
  U111: 'REJECTED_BY_BANK', // below the minimum: AMOUNT_LIMIT_EXCEEDED would tell clients to send even less
  U112: 'AMOUNT_LIMIT_EXCEEDED',
  U155: 'SUSPECTED_FRAUD',
  U156: 'REJECTED_BY_BANK', // sanctions: for people to tell the client, if they may
  U157: 'REJECTED_BY_BANK', // money laundering: likewise
  U804: 'ACCOUNT_NOT_FOUND', // alias not found or inactive
  U805: 'ACCOUNT_BLOCKED', // alias suspended
};

/** These may be said of a question as well as of a payment. */
const OF_BOTH: Readonly<Record<string, FailureReason>> = {
  U124: 'BANK_NOT_SUPPORTED', // bank code not found
  U129: 'BANK_UNAVAILABLE', // payee's bank
};

/**
 * These say nothing of how a payment ended. A duplicate (U149) has the name of the payment that came first, and that one may
 * have been paid; after a fault or a timeout on the way (U17x, U9xx) the money may have arrived.
 */
const SAYS_NOTHING = /^U(?:149|17\d|9\d\d|000|002)$/;

/**
 * Why a rejected payment failed; null where the rejection may be that of the question. `ofPayment` when the hub says that it
 * reports on a payment (`OrgnlMsgNmId`), undefined when it does not say.
 */
export function failureReasonOf(code: string | undefined, ofPayment: boolean | undefined): FailureReason | null {
  if (ofPayment === false || (code !== undefined && SAYS_NOTHING.test(code))) return null;
  const certain = ownProperty(OF_PAYMENTS, code ?? '');
  if (certain !== undefined) return certain;
  if (ofPayment === undefined) return null;
  return ownProperty(OF_BOTH, code ?? '') ?? 'REJECTED_BY_BANK';
}
