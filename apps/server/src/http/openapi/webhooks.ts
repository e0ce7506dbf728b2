import { type TSchema, Type } from 'typebox';
import { ACCOUNT_VALIDATION_KINDS, BANK_KINDS, DISBURSEMENT_KINDS, type EventKind } from '../../domain/event.ts';
import { ValidationSchema } from '../account-validations/schema.ts';
import { BankStateSchema } from '../banks/schema.ts';
import { TransactionSchema } from '../check-status/schema.ts';
import { Timestamp } from '../schemas.ts';
import { exampleOf } from './json-schema.ts';

/** The callbacks that Tiba sends (docs/callbacks.md), as webhooks of OpenAPI 3.1. */

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

const ID_EXAMPLE = 'evt_TB2026112100000001_1';

const HEADERS = [
  header('webhook-id', 'The ID of the event, the same at each attempt: recognize duplicates by it.', ID_EXAMPLE),
  header('webhook-timestamp', 'The time of this attempt, in seconds since 1970.', '1795235551'),
  header(
    'webhook-signature',
    'Standard Webhooks: one signature, or several separated by spaces. One valid signature is enough.',
    'v1,b35vk0F6SjL9alCAziSBxnFUrWWP4D4eXA40jN6ac/E=',
  ),
];

interface Callback {
  readonly title: string;
  readonly kinds: readonly EventKind[];
  readonly data: TSchema;
  readonly summary: string;
}

function webhook({ title, kinds, data, summary }: Callback) {
  // New fields may be added to a callback, so additional ones are allowed.
  const schema = Type.Object(
    {
      type: Type.Enum([...kinds], { description: 'What happened.' }),
      timestamp: Timestamp,
      version: Type.Integer({ description: 'Counts the events of the subject. Ignore lower ones.', minimum: 1 }),
      data,
    },
    { title },
  );
  return {
    post: {
      operationId: `receive${title}`,
      summary,
      description: 'Verify the signature, store the callback, answer with a 2xx within 15 seconds, then process it.',
      tags: ['Callbacks'],
      security: [],
      parameters: HEADERS,
      requestBody: { required: true, content: { 'application/json': { schema, example: exampleOf(schema) } } },
      responses: {
        '2XX': { description: 'Received. Any other answer is retried.' },
        410: { description: 'The endpoint is gone: it is disabled, and nothing more is sent to it.' },
      },
    },
  };
}

export const WEBHOOKS = {
  disbursement: webhook({
    title: 'DisbursementCallback',
    kinds: DISBURSEMENT_KINDS,
    data: TransactionSchema,
    summary: 'A disbursement succeeded, failed, is overdue or was reversed',
  }),
  accountValidation: webhook({
    title: 'AccountValidationCallback',
    kinds: ACCOUNT_VALIDATION_KINDS,
    data: ValidationSchema,
    summary: 'A bulk validation has ended',
  }),
  bank: webhook({
    title: 'BankCallback',
    kinds: BANK_KINDS,
    data: BankStateSchema,
    summary: 'A bank went down or came back',
  }),
};
