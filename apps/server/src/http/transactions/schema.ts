import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import {
  TRANSACTION_EXAMPLE,
  TRANSACTION_EXAMPLE_TEXT,
  TransactionSchema,
  TransactionStatus,
} from '../check-status/schema.ts';
import { nextPage, pageParameters } from '../pages.ts';
import { accessToken, errorResponses, successResponse } from '../schemas.ts';

export const TRANSACTIONS_FOUND: BilingualText = { en: 'Transactions found', id: 'Transaksi ditemukan' };

const CSV_VALUES = Object.values(TRANSACTION_EXAMPLE).map((value) =>
  typeof value === 'number' ? value.toFixed(2) : value,
);
const CSV_EXAMPLE = `${Object.keys(TRANSACTION_EXAMPLE).join()}\r\n${CSV_VALUES.join()}\r\n`;

const time = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description, examples: ['2026-11-21T00:00:00+07:00'] }));
const amount = (description: string) =>
  Type.Optional(
    Type.String({ pattern: '^(0|[1-9][0-9]{0,17})(\\.[0-9]{1,2})?$', description, examples: ['150000.00'] }),
  );

export const listTransactionsSchema = {
  tags: ['Disbursement status'],
  security: accessToken('transactions:read'),
  operationId: 'listTransactions',
  summary: 'List and search disbursements, the newest first',
  description:
    'One page as JSON. With `Accept: text/csv` or `application/x-ndjson`, all of them as a stream. Filters are ' +
    'combined: a transaction must match each of them. A page may have fewer transactions than `limit`, even none, ' +
    'while there are more: continue until `next_cursor` is null. The order is that of `created_at`; with ' +
    '`processed_from` or `processed_to`, and without `account_number`, that of `processed_at`.',
  querystring: Type.Object({
    status: Type.Optional(TransactionStatus),
    created_from: time('RFC 3339: created at this time or later.'),
    created_to: time('RFC 3339: created before this time.'),
    processed_from: time('RFC 3339: processed at this time or later.'),
    processed_to: time('RFC 3339: processed before this time.'),
    bank_code: Type.Optional(
      Type.String({ description: 'Any code of the bank finds all of its transactions.', examples: ['014'] }),
    ),
    account_number: Type.Optional(
      Type.String({
        description: 'The whole number. Of an e-wallet the mobile number: `0812…`, `62812…` or `%2B62812…`.',
        pattern: '^\\+?[0-9]{5,34}$',
        examples: ['1234567890'],
      }),
    ),
    amount_from: amount('This amount or more. Without the fee.'),
    amount_to: amount('This amount or less. Without the fee.'),
    overdue: Type.Optional(
      Type.Enum(['true', 'false'], {
        description: 'true: in PROCESS for longer than the bank is expected to take. false: all others.',
      }),
    ),
    ...pageParameters,
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          transactions: Type.Array(TransactionSchema),
          ...nextPage,
        },
        { title: 'TransactionList', additionalProperties: false },
      ),
      TRANSACTIONS_FOUND,
      'The transactions. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
      {
        headers: ['Link'],
        alternatives: {
          'application/x-ndjson': `${TRANSACTION_EXAMPLE_TEXT}\n`,
          'text/csv': CSV_EXAMPLE,
        },
      },
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};
