import { isFailure, scenarioOf, TRANSFER_STATUSES, type TransferStatus } from '../transfers/scenario.ts';
import type { Transfer } from '../transfers/transfer.ts';
import { responseCode, SNAP_CASES } from './response-codes.ts';

/** What the status inquiry and the notification both say about a transfer. */
export function describeTransfer(transfer: Transfer, status: TransferStatus): object {
  return {
    originalReferenceNo: transfer.referenceNo,
    originalPartnerReferenceNo: transfer.partnerReferenceNo,
    latestTransactionStatus: status,
    transactionStatusDesc: TRANSFER_STATUSES[status],
    // JSON leaves out what is undefined.
    previousResponseCode: reasonCode(transfer, status),
    amount: transfer.amount,
    beneficiaryAccountNo: transfer.beneficiaryAccountNo,
    beneficiaryBankCode: transfer.beneficiaryBankCode,
    transactionDate: transfer.transactionDate,
  };
}

/** The response code that the transfer itself would have got, had the bank known at once. */
function reasonCode(transfer: Transfer, status: TransferStatus): string | undefined {
  const { reason } = scenarioOf(transfer);
  return isFailure(status) && reason !== null ? responseCode(transfer.service, SNAP_CASES[reason]) : undefined;
}
