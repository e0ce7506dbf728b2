import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type BankHours, type BankPeriod, readBankHours } from '../../bank-availability/bank-hours.ts';
import { type Bank, type BankDirectory, bankCodeOf, bicOf } from '../../domain/bank.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { shareReading } from '../../lib/shared-reading.ts';
import { readBankHistory } from '../../postgres/bank-hours.ts';
import type { Database } from '../../postgres/database.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { invalidRequest, searchParameters, wholeNumber } from '../query-parameters.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';
import { bankNames } from './list-schemas.ts';

export interface BankAvailabilityDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly banks: BankDirectory;
}

const DAYS_MAX = 90;
/** Of all banks: a hundred of them in a week are some megabytes. */
const DAYS_OF_ALL_MAX = 7;
/** What the console shows of all banks. Readers within this time share an answer: twenty consoles cost as one. */
const WEEK_SHARED_MS = 30_000;
const HOURS_PER_DAY = 24;
const MINUTE_MS = 60_000;

/** How banks answered hour by hour, over all processes. */
export function readBankAvailability(
  app: FastifyInstance,
  { authorize, database, banks }: BankAvailabilityDependencies,
): void {
  const onRequest = authorize({ scope: 'operator:read' });

  const readWeek = shareReading(WEEK_SHARED_MS, () => read(DAYS_OF_ALL_MAX, null));

  app.get('/operator/v1/banks/availability', { onRequest, schema }, async (request, reply) => {
    const parameters = searchParameters(request.originalUrl, ['bank', 'days']);
    const days = wholeNumber(parameters.days, { name: 'days', min: 1, max: DAYS_MAX, fallback: 1 });
    const bank = parameters.bank === undefined ? null : banks.find(parameters.bank);
    if (parameters.bank !== undefined && bank === null) throw new ApiError('INVALID_BANK_CODE');
    if (bank === null && days > DAYS_OF_ALL_MAX) {
      throw invalidRequest(
        englishOnly(`days must be at most ${DAYS_OF_ALL_MAX} for all banks; give one bank for more, such as bank=BCA`),
      );
    }
    const isWeek = bank === null && days === DAYS_OF_ALL_MAX;
    const data = await (isWeek ? readWeek() : read(days, bank?.bic ?? null));
    return sendOperatorSuccess(reply, 'Availability found', data);
  });

  /** Resolves to JSON. */
  async function read(days: number, bic: string | null): Promise<string> {
    const history = await readBankHistory(database, days * HOURS_PER_DAY, bic);
    const hours = readBankHours(history);
    return JSON.stringify({
      from: new Date(history.fromMs).toISOString(),
      to: new Date(history.toMs).toISOString(),
      banks: banks.list().flatMap((each) => {
        const found = hours.get(each.bic);
        return found === undefined ? [] : [bankJson(each, found)];
      }),
    });
  }
}

const bankJson = (bank: Bank, { total, hours }: BankHours): Record<string, unknown> => ({
  bank_code: bankCodeOf(bank),
  bic: bicOf(bank),
  bank_name: bank.name,
  total: periodJson(total),
  hours: hours.map(hourJson),
});

const hourJson = ({ hourMs, period }: BankHours['hours'][number]): Record<string, unknown> => {
  const hour = new Date(hourMs).toISOString();
  return { hour, ...periodJson(period) };
};

const periodJson = (period: BankPeriod): Record<string, unknown> => ({
  inquiries: period.inquiries,
  answered: period.answered,
  answered_share: period.inquiries === 0 ? null : Number((period.answered / period.inquiries).toFixed(4)),
  not_sent: period.notSent,
  minutes_down: Math.round((period.downMs / MINUTE_MS) * 10) / 10,
  p50_ms: rounded(period.p50Ms),
  p95_ms: rounded(period.p95Ms),
  reasons: period.reasons.map(({ reason, count: times }) => ({ reason, times })),
});

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));

const count = (description: string, example: number) => Type.Integer({ description, minimum: 0, examples: [example] });
const milliseconds = (description: string, example: number) =>
  nullable(Type.Integer({ minimum: 0, examples: [example] }), `${description} null where nothing was measured.`);

const period = {
  inquiries: count('Account inquiries that were sent, and have ended.', 812),
  answered: count('Those with a verdict, or in which the bank rejected that one account.', 800),
  answered_share: nullable(
    Type.Number({ minimum: 0, maximum: 1, examples: [0.9852] }),
    '`answered` of `inquiries`; null where there were none.',
  ),
  not_sent: count('Not sent over one of its rails: breaker open, too many in flight, quota used up.', 4),
  minutes_down: Type.Number({
    description: 'How long it was DOWN for all processes: from the first failure until it answered again.',
    minimum: 0,
    examples: [2.5],
  }),
  p50_ms: milliseconds('Half of the verdicts and timeouts took at most this long, to a fifth.', 140),
  p95_ms: milliseconds('19 of 20 took at most this long, to a fifth.', 420),
  reasons: Type.Array(
    Type.Object(
      {
        reason: Type.String({ description: 'Why there was no verdict.', examples: ['timeout'] }),
        times: Type.Integer({ description: 'How often.', minimum: 1, examples: [12] }),
      },
      { title: 'CountedReason', additionalProperties: false },
    ),
    { description: 'The most frequent first.' },
  ),
};

const schema = {
  tags: ['Rails'],
  security: accessToken('operator:read'),
  operationId: 'readBankAvailability',
  summary: 'Read how banks answered, hour by hour',
  description:
    `Of all processes together, for up to ${DAYS_MAX} days. An hour without inquiries in which the bank was not DOWN ` +
    'is left out, and so is a bank without any hour. Counts come with a delay of ten seconds.',
  querystring: Type.Object({
    bank: Type.Optional(Type.String({ description: 'Clearing code, BIC or short name.', examples: ['BCA'] })),
    days: Type.Optional(
      Type.Integer({
        description: `Days back from now; more than ${DAYS_OF_ALL_MAX} need \`bank\`.`,
        minimum: 1,
        maximum: DAYS_MAX,
        default: 1,
      }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          from: Timestamp,
          to: Timestamp,
          banks: Type.Array(
            Type.Object(
              {
                ...bankNames,
                total: Type.Object(period, { title: 'BankPeriod', additionalProperties: false }),
                hours: Type.Array(
                  Type.Object({ hour: Timestamp, ...period }, { title: 'BankHour', additionalProperties: false }),
                  { description: 'In the order of time.' },
                ),
              },
              { title: 'BankHours', additionalProperties: false },
            ),
          ),
        },
        { title: 'BankAvailability', additionalProperties: false },
      ),
      englishOnly('Availability found'),
      'The banks, in the order of the bank directory.',
    ),
    ...errorResponses(['INVALID_REQUEST', 'INVALID_BANK_CODE']),
  },
};
