import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import program from '../../../../package.json' with { type: 'json' };
import { createGauges, describeBuild, type Gauges } from './gauges.ts';
import type { MetricSnapshot } from './metric-snapshot.ts';
import { type Exemplar } from './open-metrics.ts';
import { createOutcomes, type Outcomes } from './outcome-metrics.ts';

/** Every metric of Tiba. Names follow Prometheus' conventions: base units, `_total` for counters. */
export interface Metrics {
  /** HTTP requests answered, by the route's pattern and the HTTP status. */
  readonly requests: Outcomes;
  /** Account inquiries sent to a rail, by outcome. */
  readonly inquiries: Outcomes;
  /** Transaction status inquiries sent to a rail, by outcome. */
  readonly statusInquiries: Outcomes;
  readonly transfersForReview: Counter<'rail'>;
  /** Attempts to deliver a callback, by the kind of event and the outcome. */
  readonly callbacks: Outcomes;
  readonly callbackEndpointsDisabled: Counter<'reason'>;
  readonly lookUpBatchSize: Histogram;
  readonly inquiriesShared: Counter;
  /** Account inquiries that were not sent, by reason. */
  readonly inquiriesNotSent: Counter<'rail' | 'reason'>;
  readonly inquiryRetries: Counter<'rail'>;
  readonly inquiryHedges: Counter<'rail'>;
  readonly auditRecordsPending: Gauge;
  /** Clients that the enumeration guard began to restrict, by the signal that it saw. */
  readonly enumerationRestrictions: Counter<'signal' | 'level'>;
  /** 0 closed, 1 half open, 2 open; only for banks whose circuit breaker has changed its state since the start. */
  readonly breakerState: Gauge<'rail' | 'bank'>;
  readonly feedLines: Counter<'outcome'>;
  readonly retentionDeleted: Counter<'records'>;
  readonly archivedTransactions: Counter;
  /** Accounts of bulk validations, by result. */
  readonly validationRows: Counter<'result'>;
  readonly authenticationFailures: Counter<'outcome'>;
  /** Connections closed because of a limit, before a request was read. */
  readonly connectionsRefused: Counter<'listener' | 'reason'>;
  readonly handshakesFailed: Counter<'listener' | 'reason'>;
  /** Of the certificate in use, for each listener that speaks TLS. */
  readonly certificateExpiry: Gauge<'listener'>;
  /** Requests of authenticated clients that a limit, a missing scope or an outage refused. */
  readonly requestsRefused: Counter<'client_id' | 'error_code'>;
  /** Spans that a collector has taken, or that were dropped. */
  readonly traceSpans: Counter<'outcome'>;
  readonly gauges: Gauges;
  /** Processes that share the database, this one included. */
  readonly liveProcesses: Gauge;
  readonly clockSkew: Gauge;
  readonly valkeyUp: Gauge;
  /** Decisions that this process made by itself because Valkey was away. */
  readonly limitDecisionsAlone: Counter<'limiter'>;
  readonly ready: Gauge;
  readonly paused: Gauge;
  readonly staging: Gauge;
  /** While TIBA_SECRET_KEY is being replaced. */
  readonly secretsToReseal: Gauge;
  readonly degraded: Gauge;
  /** All metrics in the Prometheus text format. */
  render(): Promise<string>;
  /** Examples of durations that are in a trace, of this process. */
  exemplars(): ReadonlyMap<string, Exemplar>;
  /** The same, for a process that adds up those of several. */
  snapshot(): Promise<MetricSnapshot[]>;
  /** Of these, what Tiba counts: counters and histograms. They cost less, and no query. */
  counts(): Promise<MetricSnapshot[]>;
  readonly contentType: string;
}

/** `droppedLogLines`: the number of log lines that were dropped so far. */
export function createMetrics(droppedLogLines: () => number = () => 0): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  describeBuild(registry, program.version);
  countDroppedLogLines(registry, droppedLogLines);
  const outcomes = createOutcomeMetrics();
  return {
    ...outcomes,
    ...createTransactionMetrics(registry),
    ...createInquiryMetrics(registry),
    ...createAccountCheckMetrics(registry),
    ...createRequestMetrics(registry),
    ...createAdmissionMetrics(registry),
    ...createStateMetrics(registry),
    gauges: createGauges(registry),
    ...createProcessMetrics(registry),
    render: async () =>
      (await registry.metrics()) +
      outcomes.requests.render() +
      outcomes.inquiries.render() +
      outcomes.statusInquiries.render() +
      outcomes.callbacks.render(),
    exemplars: () => new Map(Object.values(outcomes).flatMap((each) => each.exemplars())),
    snapshot: async () => [
      // Its types say that the type of a metric is a number; it is a word.
      ...((await registry.getMetricsAsJSON()) as unknown as MetricSnapshot[]),
      ...snapshotOf(outcomes),
    ],
    counts: async () => [...(await countsOf(registry)), ...snapshotOf(outcomes)],
    contentType: registry.contentType,
  };
}

const snapshotOf = (outcomes: Readonly<Record<string, Outcomes>>): MetricSnapshot[] =>
  Object.values(outcomes).flatMap((each) => each.snapshot());

/** Without what prom-client measures by itself: reading that takes system calls. */
async function countsOf(registry: Registry): Promise<MetricSnapshot[]> {
  const metrics = registry.getMetricsAsArray();
  const counts = metrics.filter((metric) => metric.name.startsWith('tiba_') && !(metric instanceof Gauge));
  return Promise.all((counts as unknown as { get(): Promise<MetricSnapshot> }[]).map((metric) => metric.get()));
}

/** The log counts by itself, because it is there before the metrics. */
function countDroppedLogLines(registry: Registry, droppedLogLines: () => number): void {
  const counter: Counter = new Counter({
    name: 'tiba_log_lines_dropped_total',
    help: 'Log lines dropped because the log could not be written: a full disk, or a pipe that is not read.',
    registers: [registry],
    collect() {
      counter.reset();
      counter.inc(droppedLogLines());
    },
  });
}

/** The metrics of what happens at every request (outcomes.ts). */
const createOutcomeMetrics = () => ({
  requests: createOutcomes({
    counter: { name: 'tiba_http_requests_total', help: 'HTTP requests answered, by route and status.' },
    histogram: {
      name: 'tiba_http_request_duration_seconds',
      help: 'Time from the request head to the response.',
    },
    subject: 'route',
    outcome: 'status',
    // TibaInternalErrors.
    countedFromZero: 500,
  }),
  inquiries: createOutcomes({
    counter: { name: 'tiba_inquiries_total', help: 'Account inquiries sent to a rail, by outcome.' },
    histogram: { name: 'tiba_inquiry_duration_seconds', help: 'Time until a rail answered an account inquiry.' },
    subject: 'rail',
    outcome: 'outcome',
  }),
  callbacks: createOutcomes({
    counter: {
      name: 'tiba_callback_attempts_total',
      help: 'Attempts to deliver a callback, by outcome: delivered, failed (will retry), or exhausted.',
    },
    histogram: { name: 'tiba_callback_attempt_duration_seconds', help: 'Time until a receiver answered a callback.' },
    subject: 'kind',
    outcome: 'outcome',
  }),
  statusInquiries: createOutcomes({
    counter: {
      name: 'tiba_status_inquiries_total',
      help: 'Transaction status inquiries sent to a rail, by outcome.',
    },
    histogram: {
      name: 'tiba_status_inquiry_duration_seconds',
      help: 'Time until a rail answered a transaction status inquiry.',
    },
    subject: 'rail',
    outcome: 'outcome',
  }),
});

const createTransactionMetrics = (registry: Registry) => ({
  transfersForReview: new Counter({
    name: 'tiba_transfers_for_review_total',
    help: 'Transfers in PROCESS that stayed unknown to their bank for too long: each needs a manual review.',
    labelNames: ['rail'],
    registers: [registry],
  }),
  callbackEndpointsDisabled: new Counter({
    name: 'tiba_callback_endpoints_disabled_total',
    help: 'Callback endpoints disabled because they answered 410 or failed for too long.',
    labelNames: ['reason'],
    registers: [registry],
  }),
  lookUpBatchSize: new Histogram({
    name: 'tiba_look_up_batch_size',
    help: 'Number of status look-ups sent to PostgreSQL in one query.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers: [registry],
  }),
});

const createInquiryMetrics = (registry: Registry) => ({
  inquiriesShared: new Counter({
    name: 'tiba_inquiries_shared_total',
    help: 'Account checks answered by an account inquiry that was already in flight.',
    registers: [registry],
  }),
  inquiriesNotSent: new Counter({
    name: 'tiba_inquiries_not_sent_total',
    help: 'Account inquiries not sent to a rail, by reason: circuit breaker open, too many in flight, quota used up.',
    labelNames: ['rail', 'reason'],
    registers: [registry],
  }),
  inquiryRetries: new Counter({
    name: 'tiba_inquiry_retries_total',
    help: 'Account inquiries that were retried after a failure.',
    labelNames: ['rail'],
    registers: [registry],
  }),
  inquiryHedges: new Counter({
    name: 'tiba_inquiry_hedges_total',
    help: 'Second (hedged) account inquiries, sent because the first one was slow.',
    labelNames: ['rail'],
    registers: [registry],
  }),
});

const createAccountCheckMetrics = (registry: Registry) => ({
  auditRecordsPending: new Gauge({
    aggregator: 'sum',
    name: 'tiba_audit_records_pending',
    help: 'Audit records of account checks that wait to be written, as of the last write.',
    registers: [registry],
  }),
  enumerationRestrictions: new Counter({
    name: 'tiba_enumeration_restrictions_total',
    help: 'Restrictions (slowed or blocked) that the enumeration guard put on a client.',
    labelNames: ['signal', 'level'],
    registers: [registry],
  }),
  breakerState: new Gauge({
    aggregator: 'max',
    name: 'tiba_breaker_state',
    help: 'State of the circuit breaker for a bank on a rail: 0 closed, 1 half open, 2 open.',
    labelNames: ['rail', 'bank'],
    registers: [registry],
  }),
});

const createProcessMetrics = (registry: Registry) => ({
  liveProcesses: new Gauge({
    aggregator: 'max',
    name: 'tiba_live_processes',
    help: 'Processes that share the database, this one included, as of the last heartbeat.',
    registers: [registry],
  }),
  traceSpans: new Counter({
    name: 'tiba_trace_spans_total',
    help: 'Spans of traces by outcome: exported, or dropped because the collector was away, slow or refused them.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
  clockSkew: new Gauge({
    aggregator: 'average',
    name: 'tiba_clock_skew_seconds',
    help: "How far this process's clock is ahead of PostgreSQL's; negative: behind.",
    registers: [registry],
  }),
  valkeyUp: new Gauge({
    aggregator: 'min',
    name: 'tiba_valkey_up',
    help: '1 while Valkey decides on limits; 0 while it is away. Absent where no Valkey is configured.',
    registers: [registry],
  }),
  limitDecisionsAlone: new Counter({
    name: 'tiba_limit_decisions_alone_total',
    help: 'Decisions on limits that a process made by itself because Valkey or its parent was away.',
    labelNames: ['limiter'],
    registers: [registry],
  }),
});

const createRequestMetrics = (registry: Registry) => ({
  feedLines: new Counter({
    name: 'tiba_feed_lines_total',
    help: 'Status updates received in the feed, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
  retentionDeleted: new Counter({
    name: 'tiba_retention_deleted_total',
    help: 'Records deleted by this process after their retention time, by kind.',
    labelNames: ['records'],
    registers: [registry],
  }),
  archivedTransactions: new Counter({
    name: 'tiba_archived_transactions_total',
    help: 'Transactions that this process has written to the archive.',
    registers: [registry],
  }),
  validationRows: new Counter({
    name: 'tiba_account_validation_accounts_total',
    help: 'Accounts of bulk validations that were checked, by result.',
    labelNames: ['result'],
    registers: [registry],
  }),
});

/** Who is let in. */
const createAdmissionMetrics = (registry: Registry) => ({
  authenticationFailures: new Counter({
    name: 'tiba_authentication_failures_total',
    help: 'Requests rejected by authentication, before their operation began, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
  connectionsRefused: new Counter({
    name: 'tiba_connections_refused_total',
    help: 'Connections refused because a limit was reached, by listener and limit: total or per_address.',
    labelNames: ['listener', 'reason'],
    registers: [registry],
  }),
  handshakesFailed: new Counter({
    name: 'tiba_tls_handshakes_failed_total',
    help: 'TLS handshakes that failed, by listener and reason: timeout, version, client_certificate or other.',
    labelNames: ['listener', 'reason'],
    registers: [registry],
  }),
  certificateExpiry: new Gauge({
    aggregator: 'min',
    name: 'tiba_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of a listener expires, in seconds since 1970. Absent where it speaks plain HTTP.',
    labelNames: ['listener'],
    registers: [registry],
  }),
  requestsRefused: new Counter({
    name: 'tiba_requests_refused_total',
    help: 'Requests of authenticated clients that a limit, a missing scope or an outage refused.',
    labelNames: ['client_id', 'error_code'],
    registers: [registry],
  }),
});

/** In which state the service is. */
const createStateMetrics = (registry: Registry) => ({
  paused: new Gauge({
    aggregator: 'max',
    name: 'tiba_paused',
    help: '1 while the process calls no receiver and asks no bank (TIBA_PAUSED).',
    registers: [registry],
  }),
  staging: new Gauge({
    aggregator: 'max',
    name: 'tiba_staging',
    help: '1 in a rehearsal, in which banks may be simulated (TIBA_STAGING).',
    registers: [registry],
  }),
  secretsToReseal: new Gauge({
    aggregator: 'max',
    name: 'tiba_secrets_to_reseal',
    help: 'Secrets in the database that are not sealed with TIBA_SECRET_KEY yet, while it is being replaced.',
    registers: [registry],
  }),
  ready: new Gauge({
    aggregator: 'min',
    name: 'tiba_ready',
    help: '1 while the service can answer requests, as /readyz reports.',
    registers: [registry],
  }),
  degraded: new Gauge({
    aggregator: 'max',
    name: 'tiba_degraded',
    help: '1 while the service can answer only a part of the requests, as /readyz reports.',
    registers: [registry],
  }),
});
