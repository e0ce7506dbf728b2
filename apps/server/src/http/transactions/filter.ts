import { AccountNumber } from '../../domain/account.ts';
import { type Bank, type BankDirectory, codesOf, isEWallet } from '../../domain/bank.ts';
import { STATUSES } from '../../domain/transaction.ts';
import type { BankFilter, TransactionFilter } from '../../postgres/transaction-list.ts';
import { bankCodeParameter, invalidRequest, moneyParameter, oneOf, timeRange } from '../query-parameters.ts';

export const FILTER_PARAMETERS = [
  'status',
  'created_from',
  'created_to',
  'processed_from',
  'processed_to',
  'bank_code',
  'account_number',
  'amount_from',
  'amount_to',
  'overdue',
] as const;

type FilterParameters = Readonly<Partial<Record<(typeof FILTER_PARAMETERS)[number], string>>>;

/** docs/contract.md 4.5. @throws ApiError INVALID_REQUEST */
export function readTransactionFilter(parameters: FilterParameters, banks: BankDirectory): TransactionFilter {
  const status = oneOf(parameters.status, STATUSES, 'status');
  const created = timeRange(parameters, 'created_from', 'created_to');
  const processed = timeRange(parameters, 'processed_from', 'processed_to');
  const bankCode = bankCodeParameter(parameters.bank_code);
  const found = bankCode === null ? null : banks.find(bankCode);
  const bank = bankFilter(bankCode, found);
  const accountNumbers = accountNumbersOf(parameters.account_number, found);
  const amountFrom = moneyParameter(parameters.amount_from, 'amount_from');
  const amountTo = moneyParameter(parameters.amount_to, 'amount_to');
  if (amountFrom !== null && amountTo !== null && hundredths(amountFrom) > hundredths(amountTo)) {
    throw invalidRequest({
      en: 'amount_from must be at most amount_to',
      id: 'amount_from tidak boleh melebihi amount_to',
    });
  }
  const overdueText = oneOf(parameters.overdue, ['true', 'false'], 'overdue');
  const overdue = overdueText === null ? null : overdueText === 'true';
  const isProcessed = processed.from !== null || processed.to !== null;
  if (isProcessed && (status === 'PROCESS' || overdue === true)) {
    throw invalidRequest({
      en: 'a transaction in PROCESS has no processed_at: leave processed_from and processed_to out',
      id: 'transaksi dalam PROCESS tidak memiliki processed_at: hilangkan processed_from dan processed_to',
    });
  }
  if (overdue === true && status !== null && status !== 'PROCESS') {
    throw invalidRequest({
      en: 'a transaction is overdue only in PROCESS: leave status out, or overdue',
      id: 'transaksi hanya bisa overdue dalam PROCESS: hilangkan status, atau overdue',
    });
  }
  return {
    status,
    createdFrom: created.from,
    createdTo: created.to,
    processedFrom: processed.from,
    processedTo: processed.to,
    bank,
    accountNumbers,
    amountFrom,
    amountTo,
    overdue,
  };
}

/** A core may send a bank that is not in the directory: such transactions are found by the same code only. */
export function bankFilter(code: string | null, bank: Bank | null): BankFilter | null {
  if (code === null) return null;
  return bank === null ? { codes: [code.toUpperCase()], bic: null } : { codes: codesOf(bank), bic: bank.bic };
}

/**
 * Of an e-wallet, the forms of a mobile number: a core may send either, and a client that has one looks for all. A
 * number with a `+` can only be that of an e-wallet.
 */
export function accountNumbersOf(text: string | undefined, bank: Bank | null): readonly string[] | null {
  if (text === undefined) return null;
  const isMobile = bank === null ? text.startsWith('+') : isEWallet(bank);
  const accountNumber = isMobile ? AccountNumber.parseMobile(text) : AccountNumber.parse(text);
  if (accountNumber === null) {
    throw invalidRequest({
      en: 'account_number must be the whole account number: 5 to 34 digits, or the mobile number of an e-wallet',
      id: 'account_number harus berupa nomor rekening lengkap: 5 sampai 34 digit, atau nomor ponsel dompet elektronik',
    });
  }
  const national = accountNumber.reveal();
  return isMobile ? [national, `62${national.slice(1)}`] : [national];
}

const hundredths = (money: string): bigint => BigInt(money.replace('.', ''));
