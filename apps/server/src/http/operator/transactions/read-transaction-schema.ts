import { type TSchema, Type } from 'typebox';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';
import { OperatorTransaction } from './search-schema.ts';
import { TIMELINE_KINDS } from './timeline.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const SupportSummary = Type.Object(
  {
    en: text(
      'In English.',
      'The transfer of IDR 150,000.00 to Bank Central Asia was sent to the bank on 21 November 2026 at 10:02 WIB, ' +
        'was accepted by the bank, was last asked about at the bank at 10:31 WIB, and has been overdue since ' +
        '10:32 WIB.',
    ),
    id: text(
      'In Indonesian.',
      'Transfer Rp150.000,00 ke Bank Central Asia dikirim ke bank pada 21 November 2026 pukul 10.02 WIB, sudah ' +
        'diterima oleh bank, terakhir ditanyakan ke bank pukul 10.31 WIB, dan melewati batas waktu sejak pukul ' +
        '10.32 WIB.',
    ),
  },
  {
    title: 'SupportSummary',
    description: 'What a support agent can read or send to a customer. Times are those of Jakarta.',
    additionalProperties: false,
  },
);

const TimelineFact = Type.Object(
  {
    name: text('What it is.', 'rail_code'),
    value: nullable(text('Its value.', '2003600'), 'null where there is none.'),
  },
  { title: 'TimelineFact', additionalProperties: false },
);

const TimelineEntrySchema = Type.Object(
  {
    at: Timestamp,
    kind: Type.Enum([...TIMELINE_KINDS], { title: 'TimelineKind' }),
    text: text('In English.', 'The bank, asked over bank-one, answered PROCESS (code 2003600): nothing changed'),
    text_id: text(
      'In Indonesian.',
      'Bank, ditanya lewat bank-one, menjawab PROCESS (kode 2003600): tidak ada yang berubah',
    ),
    facts: Type.Array(TimelineFact),
  },
  { title: 'TimelineEntry', additionalProperties: false },
);

const schemaOf = (
  operationId: string,
  {
    summary,
    description,
    message,
  }: { readonly summary: string; readonly description: string; readonly message: string },
  data: TSchema & { title?: string },
) => ({
  tags: ['Transactions'],
  security: accessToken('operator:read'),
  operationId,
  summary,
  description,
  params: Type.Object({ transaction_id: text('The transaction.', 'TB2026112100000001') }),
  querystring: Type.Object({
    client_id: Type.Optional(text('Needed where several clients have a transaction with this ID.', 'shop-one')),
  }),
  response: {
    200: successResponse(data, englishOnly(message), summary),
    ...errorResponses(['TRANSACTION_NOT_FOUND', 'INVALID_REQUEST']),
  },
});

export const readTransactionSchema = schemaOf(
  'readTransaction',
  {
    summary: 'Read one transaction of any client',
    description: 'With a summary that a support agent can read to a customer. Account number and name are masked.',
    message: 'Transaction found',
  },
  Type.Object(
    {
      transaction: OperatorTransaction,
      summary: SupportSummary,
      in_review: Type.Boolean({ description: 'Whether it is set aside for a person: its bank does not know it.' }),
    },
    { title: 'TransactionWithSummary', additionalProperties: false },
  ),
);

export const readTimelineSchema = schemaOf(
  'readTransactionTimeline',
  {
    summary: 'Read what happened to one transaction',
    description:
      'In the order of time: status updates with their sources, answers of the bank with its codes, events, ' +
      'callbacks with their attempts, what operators did, and the checks of the account in the 30 days before.',
    message: 'Timeline found',
  },
  Type.Object(
    { summary: SupportSummary, entries: Type.Array(TimelineEntrySchema) },
    { title: 'TransactionTimeline', additionalProperties: false },
  ),
);
