import { type TProperties, type TSchema, Type } from 'typebox';
import type { Scope } from '../../auth/scopes.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { INQUIRE_NOW_RESULTS } from '../../status-inquiry/refresh-on-read.ts';
import { DeliverySchema } from '../callbacks/delivery-resource.ts';
import { TransactionStatus } from '../check-status/schema.ts';
import type { ErrorCode } from '../errors.ts';
import { accessToken, errorResponses, successResponse } from '../schemas.ts';
import { PROPOSED, ProposalSchema } from './four-eyes/proposal-json.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

export const Reason = text('Why, in 5 to 500 characters. It is recorded.', 'Ticket 4711: the customer asks');

const transactionId = text('The transaction.', 'TB2026112100000001');
const ofClient = {
  client_id: Type.Optional(text('Needed where several clients have a transaction with this ID.', 'shop-one')),
};

interface Action {
  readonly tag: string;
  readonly scope: Scope;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly message: string;
  readonly params?: TProperties;
  readonly querystring?: TProperties;
  /** With a `reason` of its own where that is not always needed. */
  readonly body: TProperties;
  /** Names the body. */
  readonly title: string;
  readonly data: TSchema & { title?: string };
  readonly errors: readonly ErrorCode[];
  /** Whether it may need the approval of a second person. */
  readonly mayBeProposed?: true;
}

/** An action of an operator: a POST or PATCH with a reason. */
export const actionSchema = (action: Action) => ({
  tags: [action.tag],
  security: accessToken(action.scope),
  operationId: action.operationId,
  summary: action.summary,
  description: action.description,
  ...(action.params === undefined ? {} : { params: Type.Object(action.params) }),
  ...(action.querystring === undefined ? {} : { querystring: Type.Object(action.querystring) }),
  body: Type.Object({ ...action.body, reason: action.body['reason'] ?? Reason }, { title: action.title }),
  response: {
    200: successResponse(action.data, englishOnly(action.message), action.summary),
    ...(action.mayBeProposed === true
      ? { 202: successResponse(ProposalSchema, englishOnly(PROPOSED), 'It waits for the approval of a second person.') }
      : {}),
    ...errorResponses([
      'INVALID_FORMAT',
      'INVALID_REQUEST',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      ...action.errors,
    ]),
  },
});

export const unmaskSchema = actionSchema({
  tag: 'Transactions',
  scope: 'operator:unmask',
  operationId: 'unmaskTransaction',
  summary: "Read a transaction's account number and name",
  description: 'They are masked everywhere else. Each time is recorded before it is answered.',
  message: 'Transaction unmasked',
  params: { transaction_id: transactionId },
  querystring: ofClient,
  body: {},
  title: 'UnmaskRequest',
  data: Type.Object(
    {
      client_id: text('The client.', 'shop-one'),
      transaction_id: transactionId,
      account_number: text('The whole account number.', '1234567890'),
      account_name: text('The whole name.', 'KARTIKA PRASETYO'),
    },
    { title: 'UnmaskedTransaction', additionalProperties: false },
  ),
  errors: ['TRANSACTION_NOT_FOUND'],
});

export const inquireSchema = actionSchema({
  tag: 'Transactions',
  scope: 'operator:write',
  operationId: 'inquireTransaction',
  summary: 'Ask the bank about a transaction now',
  description:
    'Ahead of the schedule, within the quota of the bank, and not again within TIBA_STALE_SECONDS (15 minutes while ' +
    'it is in review) of the last inquiry of any process. Waits for the answer, 4 seconds at most, also to an ' +
    'inquiry that was on its way already. Recorded if the bank was asked.',
  message: 'The bank was asked',
  params: { transaction_id: transactionId },
  querystring: ofClient,
  body: {},
  title: 'InquireRequest',
  data: Type.Object(
    {
      inquired: Type.Boolean({ description: 'Whether the bank was asked.' }),
      result: Type.Enum([...INQUIRE_NOW_RESULTS], {
        title: 'InquireResult',
        description:
          'What the bank answered: a status, `unknown_transfer`, `no_status` (no answer, or one without a status) or ' +
          '`no_answer_yet`. Or why it was not asked: `too_soon` (it was asked a moment ago, or expects its first ' +
          'inquiry later), `no_slot` (all slots are taken, or the bank fails: try again) or `not_supported` (the ' +
          'rail cannot be asked, or the status was final).',
      }),
      status: TransactionStatus,
    },
    { title: 'InquiredTransaction', additionalProperties: false },
  ),
  errors: ['TRANSACTION_NOT_FOUND'],
});

export const resolveReviewSchema = actionSchema({
  tag: 'Transactions',
  scope: 'operator:write',
  operationId: 'resolveTransactionReview',
  summary: 'End the review of a transaction',
  description:
    'After a person has asked the bank. The status changes by the feed or by an answer of the bank only: the bank is ' +
    'asked again at once, and a new review begins if it still does not know the transfer in an hour.',
  message: 'Review ended',
  params: { transaction_id: transactionId },
  querystring: ofClient,
  body: {},
  title: 'ResolveReviewRequest',
  mayBeProposed: true,
  data: Type.Object(
    { resolved: Type.Boolean({ description: 'false: it was not under review, and nothing was done.' }) },
    { title: 'ResolvedReview', additionalProperties: false },
  ),
  errors: ['TRANSACTION_NOT_FOUND'],
});

export const resendSchema = actionSchema({
  tag: 'Callbacks',
  scope: 'operator:write',
  operationId: 'resendCallbackDelivery',
  summary: 'Send a callback of any client again',
  description: 'At once, in any state, and with the whole retry schedule if it fails again.',
  message: 'Delivery resent',
  params: { delivery_id: text('The delivery.', 'ep_5f0c1d2e3b4a59687786-42') },
  body: { client_id: text('The client of the delivery.', 'shop-one') },
  title: 'ResendRequest',
  data: DeliverySchema,
  errors: ['DELIVERY_NOT_FOUND', 'ENDPOINT_DISABLED'],
});
