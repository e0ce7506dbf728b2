import { addMoney } from './money.ts';
import type { Transaction } from './transaction.ts';

/**
 * A transaction as JSON text: the fields of docs/contract.md 2.2, all of them, in its order. Amounts are JSON
 * numbers printed from the exact decimal, which is why this is text and not an object for JSON.stringify.
 *
 * It is rendered once, when the transaction changes, and stored beside it, so that a status check costs no rendering.
 */
export function transactionJson(transaction: Transaction): string {
  const { amount, fee } = transaction;
  const text = (value: string | null): string => JSON.stringify(value);
  return (
    `{"transaction_id":${text(transaction.transactionId)},"reference_id":${text(transaction.referenceId)}` +
    `,"status":"${transaction.status}","amount":${amount},"fee":${fee},"total_amount":${addMoney(amount, fee)}` +
    `,"bank_code":${text(transaction.bankCode)},"bank_name":${text(transaction.bankName)}` +
    `,"account_number":${text(transaction.accountNumber)},"account_name":${text(transaction.accountName)}` +
    `,"description":${text(transaction.description)},"created_at":${text(transaction.createdAt)}` +
    `,"processed_at":${text(transaction.processedAt)},"failure_reason":${text(transaction.failureReason)}}`
  );
}
