import type { FastifyInstance } from 'fastify';
import { shareReading } from '../../lib/shared-reading.ts';
import { type MetricSample, readSamples } from '../../observability/metric-samples.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { RailSnapshot } from '../../rails/resilience/guards.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import type { RenderMetrics } from './health.ts';
import { overviewSchema } from './overview-schema.ts';

export interface OverviewDependencies {
  readonly authorize: Authorize;
  readonly renderMetrics: RenderMetrics;
  /** Names the start of the counts: the parent of several processes, or the only one. */
  readonly source: string;
  readonly inquiries: Pick<AccountInquiries, 'snapshot'>;
}

/** Readers within this time share one answer: twenty consoles cost as much as one. */
const SHARED_MS = 4_000;

/** What an outcome metric counts, and the label of its subject and of its outcome. */
const OUTCOMES = {
  requests: {
    counter: 'tiba_http_requests_total',
    histogram: 'tiba_http_request_duration_seconds_bucket',
    subject: 'route',
    outcome: 'status',
  },
  account_inquiries: {
    counter: 'tiba_inquiries_total',
    histogram: 'tiba_inquiry_duration_seconds_bucket',
    subject: 'rail',
    outcome: 'outcome',
  },
  status_inquiries: {
    counter: 'tiba_status_inquiries_total',
    histogram: 'tiba_status_inquiry_duration_seconds_bucket',
    subject: 'rail',
    outcome: 'outcome',
  },
  callbacks: {
    counter: 'tiba_callback_attempts_total',
    histogram: 'tiba_callback_attempt_duration_seconds_bucket',
    subject: 'kind',
    outcome: 'outcome',
  },
} as const;

const BACKLOG = {
  overdue: 'tiba_transactions_overdue',
  reviews: 'tiba_transactions_for_review',
  callbacks_pending: 'tiba_callback_deliveries_pending',
  oldest_callback_seconds: 'tiba_callback_oldest_due_seconds',
  validation_rows: 'tiba_account_validation_rows_waiting',
} as const;

const NAMES: ReadonlySet<string> = new Set([
  ...Object.values(OUTCOMES).flatMap(({ counter, histogram }) => [counter, histogram]),
  ...Object.values(BACKLOG),
]);

/** Only what clients call: the routes of the API. */
const CLIENT_ROUTE = /^\/api\//;

/**
 * What the service does now, out of its own metrics: counts since its start, of which a reader takes the difference
 * between two answers with the same `source`.
 */
export function showOverview(
  app: FastifyInstance,
  { authorize, renderMetrics, source, inquiries }: OverviewDependencies,
): void {
  const read = shareReading(SHARED_MS, async () => {
    const overview = overviewOf(readSamples(await renderMetrics(), NAMES), source);
    return JSON.stringify({ ...overview, banks_down: countBanksDown(inquiries.snapshot()) });
  });
  const options = { onRequest: authorize({ scope: 'operator:read' }), schema: overviewSchema };
  app.get('/operator/v1/overview', options, async (_request, reply) =>
    sendOperatorSuccess(reply, 'Overview found', await read()),
  );
}

/** Banks whose circuit breaker is open on each rail over which this process has asked them. */
function countBanksDown(rails: readonly RailSnapshot[]): number {
  const byBank = Map.groupBy(
    rails.flatMap(({ banks }) => banks),
    ({ bank }) => bank,
  );
  return [...byBank.values()].filter((each) => each.every(({ health }) => health.state === 'open')).length;
}

function overviewOf(samples: readonly MetricSample[], source: string): Record<string, unknown> {
  const byName = Map.groupBy(samples, ({ name }) => name);
  const counts = (of: (typeof OUTCOMES)[keyof typeof OUTCOMES]) => outcomesOf(byName, of);
  return {
    at: new Date().toISOString(),
    source,
    requests: counts(OUTCOMES.requests).filter(({ subject }) => CLIENT_ROUTE.test(subject)),
    account_inquiries: counts(OUTCOMES.account_inquiries),
    status_inquiries: counts(OUTCOMES.status_inquiries),
    callbacks: counts(OUTCOMES.callbacks),
    backlog: Object.fromEntries(
      Object.entries(BACKLOG).map(([field, name]) => [field, byName.get(name)?.[0]?.value ?? null]),
    ),
  };
}

interface SubjectCounts {
  readonly subject: string;
  readonly outcomes: readonly { readonly outcome: string; readonly count: number }[];
  readonly durations: readonly { readonly up_to_ms: number | null; readonly count: number }[];
}

function outcomesOf(
  byName: ReadonlyMap<string, readonly MetricSample[]>,
  { counter, histogram, subject, outcome }: (typeof OUTCOMES)[keyof typeof OUTCOMES],
): SubjectCounts[] {
  const bySubject = (name: string) => Map.groupBy(byName.get(name) ?? [], ({ labels }) => labels[subject] ?? '');
  const durations = bySubject(histogram);
  return [...bySubject(counter)].map(([name, counted]) => ({
    subject: name,
    outcomes: counted.map(({ labels, value }) => ({ outcome: labels[outcome] ?? '', count: value })),
    durations: (durations.get(name) ?? []).map(({ labels, value }) => ({
      up_to_ms: labels['le'] === '+Inf' ? null : Number(labels['le']) * 1000,
      count: value,
    })),
  }));
}
