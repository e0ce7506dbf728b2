import { AccountNumber, maskName } from '../../../domain/account.ts';
import { addMoney } from '../../../domain/money.ts';
import type { Transaction } from '../../../domain/transaction.ts';

/** A transaction for the operator, with account number and name masked. Text, so that the amounts stay exact. */
export function maskedTransactionJson(transaction: Transaction): string {
  const { amount, fee } = transaction;
  const before = {
    client_id: transaction.clientId,
    transaction_id: transaction.transactionId,
    reference_id: transaction.referenceId,
    status: transaction.status,
  };
  const after = {
    currency: transaction.currency,
    bank_code: transaction.bankCode,
    bank_name: transaction.bankName,
    // Its JSON is masked.
    account_number: AccountNumber.parse(transaction.accountNumber),
    account_name: maskName(transaction.accountName),
    created_at: transaction.createdAt,
    processed_at: transaction.processedAt,
    failure_reason: transaction.failureReason,
    reversed_at: transaction.reversedAt,
    expected_by: transaction.expectedBy,
    overdue_since: transaction.overdueSince,
    rail: transaction.rail,
    rail_reference: transaction.railReference,
    bank_reference: transaction.bankReference,
    external_id: transaction.externalId,
    version: transaction.version,
  };
  return (
    `${JSON.stringify(before).slice(0, -1)},"amount":${amount},"fee":${fee},"total_amount":${addMoney(amount, fee)}` +
    `,${JSON.stringify(after).slice(1)}`
  );
}
