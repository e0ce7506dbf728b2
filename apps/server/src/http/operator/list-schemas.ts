import { type TProperties, type TSchema, Type } from 'typebox';
import { ENUMERATION_SIGNALS } from '../../account-checks/enumeration/restrictions.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { DISABLED_REASONS, UNHEALTHY_STATES } from '../../postgres/callback-endpoints.ts';
import { ValidationSchema } from '../account-validations/schema.ts';
import { EndpointId } from '../callbacks/endpoint-resource.ts';
import { AccountStatus } from '../check-account/schema.ts';
import { accessToken, errorResponses, MEMORY_ERRORS, nullable, successResponse, Timestamp } from '../schemas.ts';

/** The operator's lists (docs/operating.md, "Operator lists"). */

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const count = (description: string, example: number) => Type.Integer({ description, minimum: 0, examples: [example] });
const object = (title: string, properties: TProperties) =>
  Type.Object(properties, { title, additionalProperties: false });

const clientId = text('The client.', 'shop-one');
const transactionId = text('The transaction.', 'TB2026112100000001');
export const bankNames = {
  bank_code: text('Clearing code.', '002'),
  bic: nullable(text('ISO 9362.', 'BRINIDJA'), 'null for an e-wallet.'),
  bank_name: text('Full bank name.', 'Bank Rakyat Indonesia (Persero)'),
};

const hasMore = { has_more: Type.Boolean({ description: 'Whether there are more than `limit`.', examples: [false] }) };

const Limit = Type.Optional(
  Type.Integer({ description: 'How many items at most.', minimum: 1, maximum: 1_000, default: 100 }),
);

interface List {
  readonly tag: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly data: TSchema & { title?: string };
  readonly message: string;
  readonly parameters?: TProperties;
}

const listSchema = ({ tag, operationId, summary, description, data, message, parameters }: List) => ({
  tags: [tag],
  security: accessToken('operator:read'),
  operationId,
  summary,
  description,
  ...(parameters === undefined ? {} : { querystring: Type.Object(parameters) }),
  response: {
    200: successResponse(data, englishOnly(message), summary),
    ...errorResponses(parameters === undefined ? [] : ['INVALID_REQUEST']),
  },
});

/** Of a list that is read from the memory of this process. */
const memoryListSchema = (list: Omit<List, 'parameters'>) => {
  const schema = listSchema(list);
  return { ...schema, response: { 200: schema.response[200], ...errorResponses([], MEMORY_ERRORS) } };
};

const OverdueTransaction = object('OverdueTransaction', {
  client_id: clientId,
  transaction_id: transactionId,
  reference_id: text("The client's reference ID.", 'INV/2026/001'),
  bank_code: text('Recipient bank code.', '014'),
  bank_name: text('Recipient bank name.', 'Bank Central Asia'),
  account_number: text('Masked.', '******7890'),
  amount: Type.Number({ description: 'Exactly two decimals.', format: 'decimal', examples: [150000] }),
  currency: text('ISO 4217.', 'IDR'),
  created_at: Timestamp,
  expected_by: Timestamp,
  overdue_since: Timestamp,
});

export const overdueSchema = listSchema({
  tag: 'Transactions',
  operationId: 'listOverdueTransactions',
  summary: 'List overdue transactions',
  description: 'Transactions in PROCESS for longer than their bank is expected to take, until they resolve.',
  data: object('OverdueTransactionList', { transactions: Type.Array(OverdueTransaction), ...hasMore }),
  message: 'Overdue transactions found',
  parameters: { limit: Limit },
});

const ReviewedTransaction = object('TransactionForReview', {
  client_id: clientId,
  transaction_id: transactionId,
  rail: text('The rail that carried the transfer.', 'bank-one'),
  rail_reference: text('The reference of the transfer there.', 'P2026112199'),
  created_at: Timestamp,
  unknown_since: nullable(Timestamp, 'Since when its bank does not know the transfer.'),
  review_since: nullable(Timestamp, 'When it was set aside for a person.'),
  last_inquired_at: nullable(Timestamp, 'When the bank was last asked.'),
});

export const reviewsSchema = listSchema({
  tag: 'Transactions',
  operationId: 'listTransactionsForReview',
  summary: 'List transactions for review',
  description:
    'Transactions whose bank has not known the transfer for an hour. They are never FAILED for that reason, because ' +
    'the money may be on its way: ask the bank, and send its answer through the feed.',
  data: object('TransactionForReviewList', { transactions: Type.Array(ReviewedTransaction), ...hasMore }),
  message: 'Transactions for review found',
  parameters: { limit: Limit },
});

const RunningValidation = Type.Object(
  { client_id: clientId, ...ValidationSchema.properties },
  { title: 'RunningAccountValidation', additionalProperties: false },
);

export const runningValidationsSchema = listSchema({
  tag: 'Account checks',
  operationId: 'listRunningAccountValidations',
  summary: 'List running bulk validations',
  description: 'Of all clients, the oldest first.',
  data: object('RunningAccountValidationList', { validations: Type.Array(RunningValidation), ...hasMore }),
  message: 'Running account validations found',
  parameters: { limit: Limit },
});

const UnhealthyStatus = Type.Enum([...UNHEALTHY_STATES], {
  title: 'UnhealthyStatus',
  description: 'failing: deliveries fail. disabled: nothing is sent to it.',
});

const UnhealthyEndpoint = object('UnhealthyCallbackEndpoint', {
  client_id: clientId,
  endpoint_id: EndpointId,
  origin: text('Scheme, host and port of its URL.', 'https://callbacks.example.com'),
  status: UnhealthyStatus,
  disabled_reason: nullable(Type.Enum([...DISABLED_REASONS], { title: 'DisabledReason' }), 'null while enabled.'),
  disabled_at: nullable(Timestamp, 'null while enabled.'),
  failing_since: nullable(Timestamp, 'The first failure since the last successful delivery.'),
  created_at: Timestamp,
});

export const unhealthyEndpointsSchema = listSchema({
  tag: 'Callbacks',
  operationId: 'listUnhealthyCallbackEndpoints',
  summary: 'List failing and disabled callback endpoints',
  description: 'Of all clients: those whose owners you should contact.',
  data: object('UnhealthyCallbackEndpointList', { endpoints: Type.Array(UnhealthyEndpoint), ...hasMore }),
  message: 'Callback endpoints found',
  parameters: {
    state: Type.Optional(UnhealthyStatus),
    limit: Limit,
  },
});

const Signal = object('EnumerationSignal', {
  signal: Type.Enum([...ENUMERATION_SIGNALS], { title: 'EnumerationSignalName' }),
  level: Type.Enum(['slowed', 'blocked'], { title: 'RestrictionLevel' }),
  figure: Type.Number({
    description: 'A ratio for `not_found_ratio`, a number of accounts for others.',
    examples: [62],
  }),
  since: Timestamp,
  until: Timestamp,
});

const RestrictedClientSchema = object('RestrictedClient', {
  client_id: clientId,
  accounts_today: count('Different accounts since midnight in Jakarta.', 812),
  accounts_per_day: count('How many it may check.', 100_000),
  signals: Type.Array(Signal),
});

export const restrictedClientsSchema = memoryListSchema({
  tag: 'Account checks',
  operationId: 'listRestrictedClients',
  summary: 'List clients that the enumeration guard restricts',
  description: 'As this process sees it. Look at what the client has checked, and talk to it.',
  data: object('RestrictedClientList', { clients: Type.Array(RestrictedClientSchema) }),
  message: 'Restricted clients found',
});

const NoVerdicts = object('NoVerdicts', {
  reason: text('Why there was no verdict.', 'timeout'),
  rail_code: nullable(text("The bank's own response code.", '5041600'), 'null when there was no answer.'),
  times: count('How often.', 3),
  last_at: Timestamp,
});

const milliseconds = (description: string, example: number) =>
  nullable(Type.Integer({ minimum: 0, examples: [example] }), description);

const RailBank = object('RailBank', {
  ...bankNames,
  breaker: Type.Enum(['closed', 'half_open', 'open'], { title: 'BreakerState' }),
  breaker_since: nullable(
    Timestamp,
    'Since when the breaker has been closed, or has not been: probes that fail do not change it. null when it has ' +
      'not changed since the start.',
  ),
  next_inquiry_in_seconds: count('How long the breaker stays open.', 0),
  in_flight: count('Inquiries that wait for an answer.', 1),
  recent: object('RecentInquiries', {
    answers: count('The verdicts among the recent inquiries; those that timed out are not counted.', 480),
    p50_ms: milliseconds('The median; null while there are too few.', 140),
    p95_ms: milliseconds('The 95th percentile; null while there are too few.', 420),
  }),
  no_verdicts: Type.Array(NoVerdicts),
});

const RailSchema = object('Rail', {
  name: text('The name of the connection.', 'bank-one'),
  tells_closed: Type.Boolean({ description: 'Whether it tells closed accounts from unknown ones.' }),
  in_flight: count('Inquiries that wait for an answer.', 1),
  concurrency_max: nullable(Type.Integer({ minimum: 1, examples: [100] }), 'null where the contract has none.'),
  quota_left: object('QuotaLeft', {
    second: nullable(Type.Integer({ examples: [20] }), 'null where the contract has none.'),
    day: nullable(Type.Integer({ examples: [99_000] }), 'null where the contract has none.'),
  }),
  banks: Type.Array(RailBank),
});

export const railsSchema = memoryListSchema({
  tag: 'Rails',
  operationId: 'listRails',
  summary: 'List the rails and the state of each bank',
  description: 'As this process sees it, with the banks that it has asked since its start.',
  data: object('RailList', { rails: Type.Array(RailSchema) }),
  message: 'Rails found',
});

const ProcessSchema = object('ServiceProcess', {
  process_id: text('Made at its start.', 'p_5f0c1d2e'),
  is_this_one: Type.Boolean({ description: 'Whether it is the process that answers.' }),
  host_name: text('The name of its host.', 'tiba-1'),
  pid: Type.Integer({ description: 'Its process ID there.', minimum: 1, examples: [4242] }),
  version: text('The version of Tiba.', '0.1.0'),
  started_at: Timestamp,
  last_heartbeat_seconds: Type.Number({
    description: 'The age of its last sign of life.',
    minimum: 0,
    examples: [1.2],
  }),
  event_loop_utilization: Type.Number({ description: 'From 0 to 1.', minimum: 0, examples: [0.083] }),
  resident_bytes: Type.Number({ description: 'Its memory.', minimum: 0, examples: [180_000_000] }),
  clock_skew_ms: nullable(
    Type.Number({ examples: [3] }),
    "How far its clock is ahead of PostgreSQL's; null while unknown.",
  ),
});

export const processesSchema = listSchema({
  tag: 'Health',
  operationId: 'listProcesses',
  summary: 'List the processes that share this database',
  description: 'With their versions, and how busy they are.',
  data: object('ServiceProcessList', { processes: Type.Array(ProcessSchema) }),
  message: 'Processes found',
});

export const AuditRecord = object('AuditRecord', {
  checked_at: Timestamp,
  client_id: clientId,
  bic: text('The bank, by ISO 9362.', 'CENAIDJA'),
  account_hash: text(
    'A keyed hash: equal for checks of the same account.',
    'q1vJ3yqk0b7l6mJm6mT1WkzYz2fJ8k5Q9nJ0yZr7x3o',
  ),
  verdict: nullable(AccountStatus, 'null when there was none.'),
  no_verdict_reason: nullable(text('Why there was no verdict.', 'timeout'), 'null when there was a verdict.'),
  rail: nullable(text('The rail that answered.', 'bank-one'), 'null when none was asked.'),
  age_seconds: nullable(Type.Integer({ minimum: 0, examples: [42] }), 'Of a verdict from the verdict cache.'),
  request_id: nullable(text('`X-Request-Id` of the request.', 'q2Zs8mJ4nT1v-17'), 'null in a bulk validation.'),
});

const instant = (description: string) =>
  Type.Optional(Type.String({ description, format: 'date-time', examples: ['2026-11-01T00:00:00Z'] }));

const searchSchema = listSchema({
  tag: 'Account checks',
  operationId: 'searchAccountChecks',
  summary: 'Search the audit log of account checks',
  description:
    'Who checked an account, or which accounts a client checked, the latest first. Give `client_id`, or `bank_code` ' +
    'and `account_number`, or all three.',
  data: object('AuditRecordList', { account_checks: Type.Array(AuditRecord), ...hasMore }),
  message: 'Account checks found',
});

export const searchAccountChecksSchema = {
  ...searchSchema,
  body: Type.Object(
    {
      client_id: Type.Optional(clientId),
      bank_code: Type.Optional(text('Clearing code, BIC or short name.', 'BCA')),
      account_number: Type.Optional(text('5 to 34 digits.', '1234567890')),
      from: instant('RFC 3339: checks from this time on.'),
      to: instant('RFC 3339: checks up to this time.'),
      limit: Limit,
    },
    { title: 'AccountCheckSearch' },
  ),
  response: {
    ...searchSchema.response,
    ...errorResponses([
      'INVALID_FORMAT',
      'INVALID_REQUEST',
      'INVALID_BANK_CODE',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};
