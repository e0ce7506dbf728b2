import { Type } from 'typebox';
import {
  ACCOUNT_VALIDATION_KINDS,
  BANK_KINDS,
  DISBURSEMENT_KINDS,
  EVENT_KINDS,
  type EventKind,
} from '../../domain/event.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { ValidationSchema } from '../account-validations/schema.ts';
import { BankStateSchema } from '../banks/schema.ts';
import { TransactionSchema } from '../check-status/schema.ts';
import { errorResponses, successResponse, Timestamp } from '../schemas.ts';

export const EVENTS_MAX = 1_000;
export const EVENTS_DEFAULT = 100;
/** Larger numbers are not exact in every JSON parser. */
export const SEQUENCE_MAX = 999_999_999_999_999;

export const EventFields = {
  event_id: Type.String({
    description: 'The `webhook-id` of its callbacks.',
    examples: ['evt_TB2026112100000001_1'],
  }),
  type: Type.Enum([...EVENT_KINDS], { description: 'What happened.' }),
};

export const Sequence = Type.Integer({
  description: "The event's number in your sequence of events: from 1, without gaps.",
  minimum: 1,
  examples: [42],
});

const eventOf = (kinds: readonly EventKind[], data: Parameters<typeof Type.Array>[0]) =>
  Type.Object(
    {
      sequence: Sequence,
      ...EventFields,
      type: Type.Enum([...kinds], { description: 'What happened.' }),
      timestamp: Timestamp,
      version: Type.Integer({
        description:
          'The version of the transaction, validation or bank after this event. A greater version is later; ignore ' +
          'smaller ones.',
        minimum: 1,
      }),
      data,
    },
    { additionalProperties: false },
  );

export const EVENTS_FOUND: BilingualText = { en: 'Events found', id: 'Event ditemukan' };

const EventSchema = Type.Union([
  eventOf(DISBURSEMENT_KINDS, TransactionSchema),
  eventOf(ACCOUNT_VALIDATION_KINDS, ValidationSchema),
  eventOf(BANK_KINDS, BankStateSchema),
]);

export const listEventsSchema = {
  tags: ['Events'],
  security: [{ bearer: ['events:read'] }],
  operationId: 'listEvents',
  summary: 'List events in order',
  description:
    'All events that callbacks deliver, numbered without gaps. Store `next_after` and continue from there, and you ' +
    'miss none.',
  querystring: Type.Object({
    after: Type.Optional(
      Type.Integer({ description: 'Only events after this sequence.', minimum: 0, maximum: SEQUENCE_MAX, default: 0 }),
    ),
    limit: Type.Optional(
      Type.Integer({
        description: 'How many events at most.',
        minimum: 1,
        maximum: EVENTS_MAX,
        default: EVENTS_DEFAULT,
      }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          events: Type.Array(EventSchema),
          next_after: Type.Integer({ description: 'The value of `after` for the next request.', minimum: 0 }),
          has_more: Type.Boolean({ description: 'Whether there are more events now.' }),
        },
        { additionalProperties: false },
      ),
      EVENTS_FOUND,
      'The events.',
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};
