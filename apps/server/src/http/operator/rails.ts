import type { FastifyInstance } from 'fastify';
import { bankCodeOf, bicOf } from '../../domain/bank.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { RailSnapshot } from '../../rails/resilience/guards.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { railsSchema } from './list-schemas.ts';

/** Lists the rails, and the state of each bank on each rail as this process sees it (docs/rails-file.md). */
export function listRails(
  app: FastifyInstance,
  authorize: Authorize,
  inquiries: Pick<AccountInquiries, 'snapshot'>,
): void {
  const options = { onRequest: authorize({ scope: 'operator:read' }), schema: railsSchema };
  app.get('/operator/v1/rails', options, async (_request, reply) => {
    const data = JSON.stringify({ rails: inquiries.snapshot().map(railJson) });
    return sendOperatorSuccess(reply, 'Rails found', data);
  });
}

const railJson = (rail: RailSnapshot): Record<string, unknown> => ({
  name: rail.name,
  tells_closed: rail.distinguishesClosed,
  in_flight: rail.inFlight,
  concurrency_max: rail.concurrencyMax,
  quota_left: rail.quotaLeft,
  banks: rail.banks.map(bankJson),
});

const bankJson = ({ bank, health }: RailSnapshot['banks'][number]): Record<string, unknown> => ({
  bank_code: bankCodeOf(bank),
  bic: bicOf(bank),
  bank_name: bank.name,
  breaker: health.state,
  breaker_since: health.since,
  next_inquiry_in_seconds: Math.ceil(health.waitMs / 1000),
  in_flight: health.inFlight,
  recent: { answers: health.answers, p50_ms: rounded(health.p50Ms), p95_ms: rounded(health.p95Ms) },
  no_verdicts: health.recentFailures.map(({ reason, railCode, count, lastAt }) => ({
    reason,
    rail_code: railCode,
    times: count,
    last_at: lastAt,
  })),
});

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));
