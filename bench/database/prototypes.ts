import { publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import type { Transaction } from '../../apps/server/src/domain/transaction.ts';
import { renderedColumn } from '../../apps/server/src/postgres/rendered-transactions.ts';
import { NUMBER } from '../load/load.ts';

/** The client that owns every transaction and sends the requests. */
export const CLIENT_ID = 'bench-client';
export const TRANSACTION_ID = `TB${NUMBER}`;
export const REFERENCE_ID = `INV/2026/${NUMBER}`;

const COMMON = {
  clientId: CLIENT_ID,
  transactionId: TRANSACTION_ID,
  referenceId: REFERENCE_ID,
  fee: '2500.00',
  currency: 'IDR',
  accountNumber: NUMBER,
  description: `Refund of order ${NUMBER}`,
  createdAt: '2026-11-21T04:32:26.123Z',
  version: 1,
  rail: null,
  railReference: null,
  reversedAt: null,
  sourceAccountNumber: null,
  serviceCode: null,
  externalId: null,
  bankReference: null,
  // In the far future: clients would be notified of overdue transactions during a measurement.
  expectedBy: '2099-11-21T05:02:26.123Z',
  overdueSince: null,
} as const;

const SUCCESS = {
  status: 'SUCCESS',
  processedAt: '2026-11-21T04:32:31.402Z',
  failureReason: null,
  expectedBy: null,
} as const;
const BCA = { bankCode: '014', bankName: 'Bank Central Asia' } as const;
const MANDIRI = { bankCode: 'BMRIIDJA', bankName: 'Bank Mandiri (Persero)' } as const;

/** Prototypes of the benchmark's transactions, used in turn. NUMBER stands for the number of the transaction. */
const PROTOTYPES: readonly Transaction[] = [
  { ...COMMON, ...SUCCESS, ...BCA, amount: '150000.00', accountName: 'BUDI SANTOSO' },
  { ...COMMON, ...SUCCESS, ...MANDIRI, amount: '1275000.50', accountName: 'SITI RAHAYU' },
  { ...COMMON, ...SUCCESS, ...BCA, amount: '98000.00', accountName: 'DEWI LESTARI' },
  {
    ...COMMON,
    ...MANDIRI,
    amount: '420000.00',
    accountName: 'AGUS WIJAYA',
    status: 'FAILED',
    processedAt: '2026-11-21T04:32:40.007Z',
    failureReason: publishedReason('ACCOUNT_BLOCKED'),
    expectedBy: null,
  },
  {
    ...COMMON,
    ...BCA,
    amount: '8750000.00',
    accountName: 'RATNA TANJUNG',
    status: 'PROCESS',
    processedAt: null,
    failureReason: null,
  },
];

/** As rows for fill.ts, with what the service's own function renders. */
export const prototypeRows = (): Record<string, unknown>[] =>
  PROTOTYPES.map((transaction, index) => ({
    ordinal: index,
    client_id: transaction.clientId,
    transaction_id: transaction.transactionId,
    reference_id: transaction.referenceId,
    status: transaction.status,
    amount: transaction.amount,
    fee: transaction.fee,
    currency: transaction.currency,
    bank_code: transaction.bankCode,
    bank_name: transaction.bankName,
    account_number: transaction.accountNumber,
    account_name: transaction.accountName,
    description: transaction.description,
    created_at: transaction.createdAt,
    processed_at: transaction.processedAt,
    failure_reason: transaction.failureReason,
    version: transaction.version,
    expected_by: transaction.expectedBy,
    rendered: renderedColumn(transaction),
  }));
