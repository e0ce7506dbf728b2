import { isFailure, scenarioOf, TRANSFER_STATUSES, type TransferStatus } from '../transfers/scenario.ts';
import type { Transfer } from '../transfers/transfer.ts';
import { responseCode, SNAP_CASES } from './response-codes.ts';

/** The fields of a transfer that the status inquiry and the notification share. */
export function describeTransfer(transfer: Transfer, status: TransferStatus): object {
  return {
    originalReferenceNo: transfer.referenceNo,
    originalPartnerReferenceNo: transfer.partnerReferenceNo,
    latestTransactionStatus: status,
    transactionStatusDesc: TRANSFER_STATUSES[status],
    // `JSON.stringify` leaves out undefined members.
    previousResponseCode: reasonCode(transfer, status),
    amount: transfer.amount,
    beneficiaryAccountNo: transfer.beneficiaryAccountNo,
    beneficiaryBankCode: transfer.beneficiaryBankCode,
    transactionDate: transfer.transactionDate,
  };
}

/** The response code that the transfer request would have received if the bank had known the outcome at once. */
function reasonCode(transfer: Transfer, status: TransferStatus): string | undefined {
  const { reason } = scenarioOf(transfer);
  return isFailure(status) && reason !== null ? responseCode(transfer.service, SNAP_CASES[reason]) : undefined;
}
