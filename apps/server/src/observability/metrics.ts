import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createOutcomes, type Outcomes } from './outcomes.ts';

/** Everything that Tiba counts. Names follow Prometheus' conventions: base units, `_total` for counters. */
export interface Metrics {
  /** Answered requests, by the route's pattern and HTTP status. */
  readonly requests: Outcomes;
  /** Questions sent to a rail, by what came of them. */
  readonly inquiries: Outcomes;
  /** Questions about transfers, by what came of them. */
  readonly statusInquiries: Outcomes;
  readonly transfersForReview: Counter<'rail'>;
  /** Attempts to deliver a callback, by the kind of event and by what came of them. */
  readonly callbacks: Outcomes;
  readonly callbackEndpointsDisabled: Counter<'reason'>;
  readonly lookUpBatchSize: Histogram;
  readonly inquiriesShared: Counter;
  /** Questions that did not go out, by why. */
  readonly inquiriesNotSent: Counter<'rail' | 'reason'>;
  readonly inquiryRetries: Counter<'rail'>;
  readonly inquiryHedges: Counter<'rail'>;
  readonly auditRecordsPending: Gauge;
  /** Clients that began to be slowed or refused, by the sign of harvesting. */
  readonly enumerationRestrictions: Counter<'signal' | 'level'>;
  /** 0 closed, 1 half open, 2 open; of banks for which it has ever changed. */
  readonly breakerState: Gauge<'rail' | 'bank'>;
  readonly feedLines: Counter<'outcome'>;
  /** Accounts of validations, by what came of them. */
  readonly validationRows: Counter<'result'>;
  readonly authenticationFailures: Counter<'outcome'>;
  readonly ready: Gauge;
  /** The Prometheus text format. */
  render(): Promise<string>;
  readonly contentType: string;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = createOutcomes({
    counter: { name: 'tiba_http_requests_total', help: 'Requests answered, by route and HTTP status.' },
    histogram: {
      name: 'tiba_http_request_duration_seconds',
      help: 'Time from the request head to the answer.',
    },
    subject: 'route',
    outcome: 'status',
  });
  const inquiries = createOutcomes({
    counter: { name: 'tiba_inquiries_total', help: 'Questions sent to a rail, by what came of them.' },
    histogram: { name: 'tiba_inquiry_duration_seconds', help: 'Time a rail took to answer.' },
    subject: 'rail',
    outcome: 'outcome',
  });
  const callbacks = createOutcomes({
    counter: {
      name: 'tiba_callback_attempts_total',
      help: 'Attempts to deliver a callback: delivered, failed and tried again later, or exhausted.',
    },
    histogram: { name: 'tiba_callback_attempt_duration_seconds', help: 'Time a receiver took to answer.' },
    subject: 'kind',
    outcome: 'outcome',
  });
  const statusInquiries = createOutcomes({
    counter: { name: 'tiba_status_inquiries_total', help: 'Questions about transfers, by what came of them.' },
    histogram: { name: 'tiba_status_inquiry_duration_seconds', help: 'Time a rail took to answer about a transfer.' },
    subject: 'rail',
    outcome: 'outcome',
  });

  return {
    requests,
    inquiries,
    statusInquiries,
    transfersForReview: new Counter({
      name: 'tiba_transfers_for_review_total',
      help: 'Transfers in PROCESS that their bank knew nothing of for too long: a person has to look into each.',
      labelNames: ['rail'],
      registers,
    }),
    callbacks,
    callbackEndpointsDisabled: new Counter({
      name: 'tiba_callback_endpoints_disabled_total',
      help: 'Callback endpoints that were disabled because they answered 410, or failed for too long.',
      labelNames: ['reason'],
      registers,
    }),
    lookUpBatchSize: new Histogram({
      name: 'tiba_look_up_batch_size',
      help: 'Status look-ups that went to PostgreSQL as one query.',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
      registers,
    }),
    inquiriesShared: new Counter({
      name: 'tiba_inquiries_shared_total',
      help: 'Account checks answered by an inquiry that was already under way.',
      registers,
    }),
    inquiriesNotSent: new Counter({
      name: 'tiba_inquiries_not_sent_total',
      help: 'Account inquiries that a rail was spared: the bank rests, too many are under way, or the quota is used up.',
      labelNames: ['rail', 'reason'],
      registers,
    }),
    inquiryRetries: new Counter({
      name: 'tiba_inquiry_retries_total',
      help: 'Account inquiries that were repeated after a failure.',
      labelNames: ['rail'],
      registers,
    }),
    inquiryHedges: new Counter({
      name: 'tiba_inquiry_hedges_total',
      help: 'Second account inquiries, sent because the first was slow.',
      labelNames: ['rail'],
      registers,
    }),
    auditRecordsPending: new Gauge({
      name: 'tiba_audit_records_pending',
      help: 'Records of account checks that wait to be written, as of the last time that some were.',
      registers,
    }),
    enumerationRestrictions: new Counter({
      name: 'tiba_enumeration_restrictions_total',
      help: 'Times that a client began to be slowed or refused because it asked as if it were collecting accounts.',
      labelNames: ['signal', 'level'],
      registers,
    }),
    breakerState: new Gauge({
      name: 'tiba_breaker_state',
      help: 'Whether a bank is asked over a rail: 0 it is, 1 it is probed, 2 it is given a rest.',
      labelNames: ['rail', 'bank'],
      registers,
    }),
    feedLines: new Counter({
      name: 'tiba_feed_lines_total',
      help: 'Words of the feed, by what came of them.',
      labelNames: ['outcome'],
      registers,
    }),
    validationRows: new Counter({
      name: 'tiba_account_validation_accounts_total',
      help: 'Accounts of validations that were asked about, by what came of them.',
      labelNames: ['result'],
      registers,
    }),
    authenticationFailures: new Counter({
      name: 'tiba_authentication_failures_total',
      help: 'Requests turned away before their operation began.',
      labelNames: ['outcome'],
      registers,
    }),
    ready: new Gauge({ name: 'tiba_ready', help: '1 while the service can answer, as /readyz says.', registers }),
    render: async () =>
      (await registry.metrics()) +
      requests.render() +
      inquiries.render() +
      statusInquiries.render() +
      callbacks.render(),
    contentType: registry.contentType,
  };
}
