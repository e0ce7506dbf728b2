import { Type } from 'typebox';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { accessToken, errorResponses, MEMORY_ERRORS, nullable, successResponse, Timestamp } from '../schemas.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const count = (description: string) => Type.Integer({ description, minimum: 0, examples: [42] });

const Outcomes = Type.Object(
  {
    subject: text('A route, a rail or a kind of event.', '/api/v1/check-account'),
    outcomes: Type.Array(
      Type.Object(
        { outcome: text('An HTTP status, or how it ended.', '200'), count: count('How often since the start.') },
        { title: 'OutcomeCount', additionalProperties: false },
      ),
    ),
    durations: Type.Array(
      Type.Object(
        {
          up_to_ms: nullable(Type.Number({ examples: [250] }), 'The upper bound; null for no bound.'),
          count: count('How many took no longer.'),
        },
        { title: 'DurationBucket', additionalProperties: false },
      ),
    ),
  },
  { title: 'OutcomeCounts', additionalProperties: false },
);

const backlog = (description: string) =>
  nullable(Type.Number({ minimum: 0, examples: [3] }), `${description} null while PostgreSQL cannot be read.`);

const SOURCE =
  'The process that answers; with several processes on one machine, their parent. Counts of another one have another ' +
  'start.';

export const overviewSchema = {
  tags: ['Health'],
  security: accessToken('operator:read'),
  operationId: 'readOverview',
  summary: 'Read what the service does now',
  description:
    'Counts since the start, out of the metrics: take the difference between two answers of one `source`, at most ' +
    'every 5 seconds. They are those of the process that answers, together with the others of its machine; the ' +
    'backlog is that of the whole installation.',
  response: {
    200: successResponse(
      Type.Object(
        {
          at: Timestamp,
          source: text(SOURCE, 'p_5f0c1d2e'),
          requests: Type.Array(Outcomes, { description: 'By the route of the public API.' }),
          account_inquiries: Type.Array(Outcomes, { description: 'By rail.' }),
          status_inquiries: Type.Array(Outcomes, { description: 'By rail.' }),
          callbacks: Type.Array(Outcomes, { description: 'By the kind of event.' }),
          backlog: Type.Object(
            {
              overdue: backlog('Overdue transactions.'),
              reviews: backlog('Transactions for review.'),
              callbacks_pending: backlog('Callbacks that are not delivered yet.'),
              oldest_callback_seconds: backlog('How long the oldest callback that is due has been due.'),
              validation_rows: backlog('Accounts of bulk validations without a result.'),
            },
            { title: 'Backlog', additionalProperties: false },
          ),
          banks_down: Type.Integer({
            description: 'Banks whose circuit breaker is open, as the process that answers sees them.',
            minimum: 0,
            examples: [1],
          }),
        },
        { title: 'Overview', additionalProperties: false },
      ),
      englishOnly('Overview found'),
      'What the service does now.',
    ),
    ...errorResponses([], MEMORY_ERRORS),
  },
};
