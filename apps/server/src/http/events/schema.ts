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
import { accessToken, errorResponses, oneOfKinds, successResponse, Timestamp } from '../schemas.ts';

export const EVENTS_MAX = 1_000;
export const EVENTS_DEFAULT = 100;
/** Larger numbers are not exact in every JSON parser. */
export const SEQUENCE_MAX = 999_999_999_999_999;

export const EventType = Type.Enum([...EVENT_KINDS], { title: 'EventType', description: 'What happened.' });

export const EventFields = {
  event_id: Type.String({
    description: 'The `webhook-id` of its callbacks.',
    examples: ['evt_TB2026112100000001_1'],
  }),
  type: EventType,
};

export const Sequence = Type.Integer({
  description:
    "The event's number in your sequence of events: from 1, without gaps; far higher after a restored backup.",
  minimum: 1,
  examples: [42],
});

const eventOf = (title: string, kinds: readonly EventKind[], data: Parameters<typeof Type.Array>[0]) =>
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
    { title, additionalProperties: false },
  );

export const EVENTS_FOUND: BilingualText = { en: 'Events found', id: 'Event ditemukan' };

const EventSchema = oneOfKinds(
  'type',
  [
    eventOf('DisbursementEvent', DISBURSEMENT_KINDS, TransactionSchema),
    eventOf('AccountValidationEvent', ACCOUNT_VALIDATION_KINDS, ValidationSchema),
    eventOf('BankEvent', BANK_KINDS, BankStateSchema),
  ],
  { title: 'Event' },
);

export const listEventsSchema = {
  tags: ['Events'],
  security: accessToken('events:read'),
  operationId: 'listEvents',
  summary: 'List events in order',
  description:
    'All events that callbacks deliver, numbered without gaps. Store `next_after` and continue from there, and you ' +
    'miss none. The `timestamp` of an event is never earlier than that of the one before it. `CURSOR_GONE` when a ' +
    'backup of the service was restored and events that you have read were lost, or when events that you have not ' +
    'read were removed after their retention time (400 days unless the operator has decided otherwise): continue ' +
    'from the address in `Link`.',
  querystring: Type.Object({
    after: Type.Optional(
      Type.Integer({
        description: 'Only events after this sequence.',
        minimum: 0,
        maximum: SEQUENCE_MAX,
        default: 0,
        examples: [41],
      }),
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
          next_after: Type.Integer({
            description: 'The value of `after` for the next request.',
            minimum: 0,
            examples: [42],
          }),
          has_more: Type.Boolean({ description: 'Whether there are more events now.' }),
        },
        { title: 'EventList', additionalProperties: false },
      ),
      EVENTS_FOUND,
      'The events.',
    ),
    ...errorResponses(['INVALID_REQUEST', 'CURSOR_GONE']),
  },
};
