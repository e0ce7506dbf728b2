import { parseMoney } from '../../domain/money.ts';
import type { NoVerdictReason, StatusInquiryOutcome } from '../rail.ts';
import { failureReasonOf, noVerdictReason } from './codes.ts';
import type { HubRequest } from './message.ts';
import { railCodeOf, type StatusReport } from './status-report.ts';

/** The fields of an inquiry. A report must not contradict them. */
export interface SentStatusInquiry {
  /** The payment's EndToEndId. */
  readonly reference: string;
  /** With two decimal places. */
  readonly amount: string;
  readonly currency: string;
  readonly accountNumber: string;
}

/** Payment status request, pacs.028.001.04. */
export const paymentStatusRequest = (path: string, { reference }: SentStatusInquiry): HubRequest => ({
  type: '000',
  definition: 'pacs.028.001.04',
  path,
  document: ({ messageId, createdAt }) => ({
    FIToFIPmtStsReq: { GrpHdr: { MsgId: messageId, CreDtTm: createdAt }, TxInf: [{ OrgnlEndToEndId: reference }] },
  }),
});

/** Settled between the banks, and credited to the account (ISO 20022, ExternalPaymentTransactionStatus1Code). */
const SUCCESSFUL: ReadonlySet<string> = new Set(['ACSC', 'ACCC']);

/**
 * In process. ACTC, the positive status of an account enquiry, says of a payment only that its form is right. BLCK is
 * neither posted nor returned: when it stays so, the transaction becomes overdue, and a person looks into it.
 */
const IN_PROCESS: ReadonlySet<string> = new Set([
  'ACTC',
  'ACCP',
  'ACSP',
  'ACWC',
  'ACWP',
  'ACPD',
  'ACFC',
  'ACFW',
  'RCVD',
  'PDNG',
  'PATC',
  'BLCK',
]);

const ACCEPTED: ReadonlySet<string | undefined> = new Set([undefined, 'U000', 'U002']);
const PAYMENT_NOT_FOUND = 'U106';
const PAYMENT_NOT_ANSWERED = 'U108';

/**
 * The outcome of a report on a payment. It is believed only when it names the payment and contradicts nothing known of
 * it.
 */
export function paymentOutcome(report: StatusReport, sent: SentStatusInquiry): StatusInquiryOutcome {
  const railCode = railCodeOf(report);
  const noStatus = (reason: NoVerdictReason): StatusInquiryOutcome => ({ kind: 'no_status', reason, railCode });
  if (!isAbout(report, sent)) return noStatus('invalid_response');

  const { status, reason } = report;
  // A mock of the hub sends it with OTHR, which is no status of ISO 20022.
  if (reason === PAYMENT_NOT_FOUND && (status === 'RJCT' || status === 'OTHR')) {
    return { kind: 'unknown_transfer', railCode };
  }
  if (SUCCESSFUL.has(status)) {
    return ACCEPTED.has(reason) ? { kind: 'status', status: 'SUCCESS', railCode } : noStatus('invalid_response');
  }
  if (IN_PROCESS.has(status) || (status === 'RJCT' && reason === PAYMENT_NOT_ANSWERED)) {
    return { kind: 'status', status: 'PROCESS', railCode };
  }
  const ofPayment = report.messageName?.startsWith('pacs.008.');
  if (status === 'CANC' && ofPayment !== false) {
    return { kind: 'status', status: 'FAILED', failureReason: 'CANCELLED', railCode };
  }
  if (status !== 'RJCT') return noStatus('invalid_response');
  const failureReason = failureReasonOf(reason, ofPayment);
  if (failureReason === null) return noStatus(noVerdictReason(reason ?? ''));
  return { kind: 'status', status: 'FAILED', failureReason, railCode };
}

function isAbout(report: StatusReport, sent: SentStatusInquiry): boolean {
  return (
    report.endToEndId === sent.reference &&
    (report.accountNumber === undefined || report.accountNumber === sent.accountNumber) &&
    (report.amount === undefined || parseMoney(report.amount) === sent.amount) &&
    (report.currency === undefined || report.currency === sent.currency)
  );
}
