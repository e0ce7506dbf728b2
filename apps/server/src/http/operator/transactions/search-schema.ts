import { type TProperties, Type } from 'typebox';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { TransactionStatus } from '../../check-status/schema.ts';
import { nextPage, pageParameters } from '../../pages.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';
import { AuditRecord } from '../list-schemas.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const money = (description: string, example: number) =>
  Type.Number({ description: `${description} Exactly two decimals.`, format: 'decimal', examples: [example] });

export const FOUND_BY = ['identifier', 'account_number', 'amount', 'request_id', 'filters'] as const;
export type FoundBy = (typeof FOUND_BY)[number];

const FoundBySchema = Type.Enum([...FOUND_BY], {
  title: 'FoundBy',
  description:
    'How the text of `q` was understood. identifier: one of the five identifiers. filters: the search had no `q`.',
});

const transactionFields: TProperties = {
  client_id: text('The client.', 'shop-one'),
  transaction_id: text('The transaction.', 'TB2026112100000001'),
  reference_id: text("The client's reference ID.", 'INV/2026/001'),
  status: TransactionStatus,
  amount: money('Without the fee.', 150_000),
  fee: money('The fee.', 2_500),
  total_amount: money('`amount + fee`.', 152_500),
  currency: text('ISO 4217.', 'IDR'),
  bank_code: text('Recipient bank code.', '014'),
  bank_name: text('Recipient bank name.', 'Bank Central Asia'),
  account_number: text('Masked.', '******7890'),
  account_name: text('Masked.', 'K****** P*******'),
  created_at: Timestamp,
  processed_at: nullable(Timestamp, 'null while in PROCESS.'),
  failure_reason: nullable(text('The reason.', 'CANCELLED: …'), 'null unless FAILED.'),
  reversed_at: nullable(Timestamp, 'When the bank returned the money.'),
  expected_by: nullable(Timestamp, 'By when it should be final; null when it is.'),
  overdue_since: nullable(Timestamp, 'null unless it took longer than expected.'),
  rail: nullable(text('The rail that carries the transfer.', 'bank-one'), 'null when Tiba does not know it.'),
  rail_reference: nullable(text('The reference of the transfer there.', 'P2026112199'), 'null without `rail`.'),
  bank_reference: nullable(text("The bank's own reference.", 'BCA-9'), 'null until it is known.'),
  external_id: nullable(text("X-EXTERNAL-ID of the client's order.", '41807553358950093184'), 'null without one.'),
  version: Type.Integer({ description: 'Grows with each event.', minimum: 1, examples: [1] }),
};

export const OperatorTransaction = Type.Object(transactionFields, {
  title: 'OperatorTransaction',
  additionalProperties: false,
});

const parameter = (description: string, example: string) => Type.Optional(text(description, example));

export const searchTransactionsSchema = {
  tags: ['Transactions'],
  security: accessToken('operator:read'),
  operationId: 'searchTransactions',
  summary: 'Search the transactions of all clients, the newest first',
  description:
    '`q` takes what a customer sent: a transaction ID, a reference, an account number, an amount or the request ID ' +
    'of an account check. Filters are combined. A page may have fewer transactions than `limit`, even none, while ' +
    'there are more: continue until `next_cursor` is null. An amount without a time is searched in the last 7 days.',
  querystring: Type.Object({
    q: parameter('Anything that identifies a transaction.', 'TB2026112100000001'),
    transaction_id: parameter('The transaction ID.', 'TB2026112100000001'),
    reference_id: parameter("The client's reference ID.", 'INV/2026/001'),
    rail_reference: parameter('The reference of the transfer at its rail.', 'P2026112199'),
    bank_reference: parameter("The bank's own reference.", 'BCA-9'),
    external_id: parameter("X-EXTERNAL-ID of the client's order.", '41807553358950093184'),
    request_id: parameter('`X-Request-Id` of an account check.', 'q2Zs8mJ4nT1v-17'),
    account_number: parameter('The whole number; of an e-wallet the mobile number.', '1234567890'),
    amount: parameter('Exactly this amount, without the fee.', '150000.00'),
    bank_code: parameter('Any code of the bank.', '014'),
    client_id: parameter('The client.', 'shop-one'),
    status: Type.Optional(TransactionStatus),
    overdue: Type.Optional(
      Type.Enum(['true', 'false'], { description: 'true: in PROCESS for longer than the bank is expected to take.' }),
    ),
    day: parameter('Created on this day in Jakarta.', '2026-11-21'),
    created_from: parameter('RFC 3339: created at this time or later.', '2026-11-21T00:00:00+07:00'),
    created_to: parameter('RFC 3339: created before this time.', '2026-11-22T00:00:00+07:00'),
    ...pageParameters,
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          found_by: nullable(FoundBySchema, 'null when nothing was found.'),
          also_found_by: Type.Array(FoundBySchema, { description: 'Other meanings of `q` that find something.' }),
          transactions: Type.Array(OperatorTransaction),
          account_checks: Type.Array(AuditRecord, {
            description:
              'With a request ID: the checks. `transactions` then has what the client paid to the account ' +
              'of the first one in the hour after it.',
          }),
          ...nextPage,
        },
        { title: 'TransactionSearchResult', additionalProperties: false },
      ),
      englishOnly('Search completed'),
      'What was found. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
      { headers: ['Link'] },
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};
