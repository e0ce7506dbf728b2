import { Type } from 'typebox';
import { TRANSFER_SERVICE_CODES } from '../../../domain/transaction.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { TransactionStatus } from '../../check-status/schema.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const money = (description: string, example: string) =>
  Type.Union([Type.String(), Type.Number()], {
    description: `${description} A plain decimal with at most two decimals, as a string or a number.`,
    examples: [example],
  });

const instant = (description: string, example: string) =>
  Type.String({ description: `${description} RFC 3339 with a time zone.`, format: 'date-time', examples: [example] });

const optional = <T extends Parameters<typeof nullable>[0]>(schema: T, description: string) =>
  Type.Optional(nullable(schema, description));

const UPDATE_EXAMPLE = {
  client_id: 'demo-shop',
  transaction_id: 'TB2026112100000099',
  reference_id: 'INV/2026/099',
  status: 'PROCESS',
  amount: '150000.00',
  fee: '2500.00',
  bank_code: '014',
  account_number: '1234567890',
  account_name: 'KARTIKA PRASETYO',
  description: 'Refund of order 2026-099',
  created_at: '2026-11-21T04:32:26Z',
};

/** docs/feed.md, "A status update". A null field counts as omitted. */
const StatusUpdateSchema = Type.Object(
  {
    client_id: text('The client that owns the transaction.', 'demo-shop'),
    transaction_id: Type.String({
      description: '2 to 10 capital letters, then 6 to 32 digits.',
      pattern: '^[A-Z]{2,10}[0-9]{6,32}$',
      examples: ['TB2026112100000099'],
    }),
    status: TransactionStatus,
    reference_id: optional(
      text("The client's own identifier.", 'INV/2026/099'),
      'Required in the first update. Unique for the client.',
    ),
    amount: optional(money('More than zero.', '150000.00'), 'Required in the first update.'),
    fee: optional(money('The fee.', '2500.00'), '0.00 unless given.'),
    total_amount: optional(money('The total.', '152500.00'), 'If given, it must be amount + fee.'),
    currency: optional(text('ISO 4217.', 'IDR'), 'IDR unless given.'),
    bank_code: optional(
      text("Any of the bank's codes, or your own with `bank_name`.", '014'),
      'Required in the first update.',
    ),
    bank_name: optional(text('The name of the bank.', 'Bank Central Asia'), 'From the bank directory unless given.'),
    account_number: optional(text('5 to 34 digits.', '1234567890'), 'Required in the first update.'),
    account_name: optional(text("The recipient's name.", 'KARTIKA PRASETYO'), 'Required in the first update.'),
    description: optional(text('Free text.', 'Refund of order 2026-099'), 'Empty unless given.'),
    created_at: optional(
      instant('When it was created.', '2026-11-21T04:32:26Z'),
      'Now unless given, or more than 12 hours ahead.',
    ),
    processed_at: optional(
      instant('When it became final.', '2026-11-21T04:32:31Z'),
      'Now unless given; not allowed with PROCESS.',
    ),
    failure_reason: optional(
      text('A code of docs/failure-reasons.md, or its whole text. Any other text becomes OTHER.', 'ACCOUNT_INACTIVE'),
      'Required with FAILED, not allowed otherwise.',
    ),
    rail: optional(text('The rail that carries the transfer.', 'bank-one'), 'Together with `rail_reference`.'),
    rail_reference: optional(text('The reference of the transfer there.', 'P2026112199'), 'Together with `rail`.'),
    source_account_number: optional(text('5 to 34 digits.', '8880001000'), 'The account that it was paid from.'),
    service_code: optional(
      text(`One of ${TRANSFER_SERVICE_CODES.join(', ')}.`, '18'),
      'The SNAP service that ordered the transfer.',
    ),
    external_id: optional(text('1 to 36 characters.', '20261121000099'), 'The `X-EXTERNAL-ID` of its order.'),
    bank_reference: optional(text('1 to 30 characters.', 'BCA-2026112199'), "The bank's own reference of it."),
    reversed_at: optional(
      instant('When the bank returned the money.', '2026-11-22T02:00:00Z'),
      'With SUCCESS only; the status stays SUCCESS.',
    ),
  },
  {
    title: 'StatusUpdate',
    description: 'One status update. Fields that are not listed are stored and otherwise ignored.',
    examples: [UPDATE_EXAMPLE],
  },
);

const count = (description: string, example: number) => Type.Integer({ description, minimum: 0, examples: [example] });

const line = Type.Integer({ description: 'The line of NDJSON, or the position in the array, from 1.', minimum: 1 });

const FeedReportSchema = Type.Object(
  {
    inserted: count('New transactions.', 1),
    advanced: count('Transactions that became final, or were reversed.', 1),
    unchanged: count('Updates that say what is already known.', 0),
    conflicts: Type.Array(
      Type.Object(
        {
          line,
          transaction_id: text('The transaction.', 'TB2026112100000001'),
          reason: text('What it contradicts.', 'status FAILED after SUCCESS: a final status never changes'),
        },
        { title: 'FeedConflict', additionalProperties: false },
      ),
      { description: 'Updates that contradict what is known. They are stored and never applied.' },
    ),
    rejected: Type.Array(
      Type.Object(
        { line, reason: text('What is wrong.', 'amount must be more than zero') },
        { title: 'RejectedLine', additionalProperties: false },
      ),
      { description: 'Updates that are malformed, or are the first and lack a field. They are not stored.' },
    ),
    differences: Type.Array(
      Type.Object(
        {
          line,
          transaction_id: text('The transaction.', 'TB2026112100000001'),
          reason: text(
            'Which fields have another value, and why.',
            'bank_reference: another value than in an earlier status update; the first value stays',
          ),
        },
        { title: 'FeedDifference', additionalProperties: false },
      ),
      { description: 'Updates that were applied and counted, but for these fields, which have another value.' },
    ),
    unlisted: count('Conflicts, rejected updates and differences beyond the 10,000 that are listed.', 0),
    restored_at: nullable(
      Timestamp,
      'When a backup of the database was restored for the last time; null: never. When it changes, feed again all ' +
        'updates since `restored_to`.',
    ),
    restored_to: nullable(
      Timestamp,
      'Up to when the restored backup holds what was fed, to a few seconds; null when it is not known.',
    ),
  },
  { title: 'FeedReport', additionalProperties: false },
);

/** The last line is the response in its envelope. */
const PROGRESS_EXAMPLE =
  '{"lines_read":51000,"inserted":50000,"advanced":0,"unchanged":0,"conflicts":0,"rejected":0}\n' +
  '{"success":true,"message":"Feed applied","data":{"inserted":90000,"advanced":0,"unchanged":0,"conflicts":[],' +
  '"rejected":[],"differences":[],"unlisted":0,"restored_at":null,"restored_to":null},' +
  '"meta":{"timestamp":"2026-11-21T04:32:31.402Z"}}\n';

export const feedSchema = {
  tags: ['Feed'],
  security: accessToken('feed:write'),
  operationId: 'sendStatusUpdates',
  summary: 'Send transactions and their status updates',
  description:
    'JSON: one status update or an array of them, at most 1 MiB. NDJSON: one on each line, without a limit; they are ' +
    'applied while they arrive. Either may be compressed (`Content-Encoding: zstd` or `gzip`). Sending the same ' +
    'updates again changes nothing. With `Accept: application/x-ndjson` the response has a line of progress each ' +
    'second, and this response as its last line.',
  body: {
    content: {
      'application/json': {
        schema: Type.Union([StatusUpdateSchema, Type.Array(StatusUpdateSchema)], { examples: [UPDATE_EXAMPLE] }),
      },
      'application/x-ndjson': {
        schema: Type.String({
          description: 'One status update on each line.',
          examples: [`${JSON.stringify(UPDATE_EXAMPLE)}\n`],
        }),
      },
    },
  },
  response: {
    200: successResponse(
      FeedReportSchema,
      englishOnly('Feed applied, but not every line: see conflicts and rejected'),
      'What became of the updates.',
      { alternatives: { 'application/x-ndjson': PROGRESS_EXAMPLE } },
    ),
    ...errorResponses(['INVALID_FORMAT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
  },
};
