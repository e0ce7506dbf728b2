/** What the dashboard shows: what an operator asks in an outage, from the clients to what Tiba depends on. */
export interface Panel {
  readonly title: string;
  /** What it means, and what is normal. */
  readonly description: string;
  /** Grafana's unit. */
  readonly unit: 's' | 'reqps' | 'ops' | 'short' | 'bytes' | 'percentunit';
  readonly queries: readonly Query[];
  /** One number instead of a curve. */
  readonly isNumber?: true;
  /** Texts instead of numbers. */
  readonly values?: Readonly<Record<string, string>>;
  /** Sections of docs/runbooks.md. */
  readonly runbooks?: readonly string[];
}

export interface Query {
  readonly expression: string;
  /** Grafana's form: `{{label}}`. */
  readonly legend: string;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const RANGE = '[$__rate_interval]';
/** Other programs have these metrics too: the dashboard's variable says which scrape job is Tiba's. */
const JOB = '{job="$job"}';
const STATUS_CHECK = 'route=~"/api/v1/check-status(/:transaction_id)?"';
const ACCOUNT_CHECK = 'route="/api/v1/check-account"';

const query = (expression: string, legend: string): Query => ({ expression, legend });

/** The rate of a counter, added up by labels. */
const rate = (counter: string, ...labels: string[]): Query =>
  query(`sum by (${labels.join(', ')}) (rate(${counter}${RANGE}))`, labels.map((label) => `{{${label}}}`).join(' '));

const quantile = (share: number, histogram: string, selector: string, ...labels: string[]): Query =>
  query(
    `histogram_quantile(${share}, sum by (${['le', ...labels].join(', ')}) (rate(${histogram}_bucket${selector}${RANGE})))`,
    [`p${share * 100}`, ...labels.map((label) => `{{${label}}}`)].join(' '),
  );

const number = (
  panel: Omit<Panel, 'isNumber' | 'queries' | 'unit'> & { unit?: Panel['unit'] },
  expression: string,
) => ({
  unit: 'short' as const,
  ...panel,
  queries: [query(expression, '')],
  isNumber: true as const,
});

const NOW: Row = {
  title: 'Now',
  panels: [
    number(
      {
        title: 'Processes',
        description: 'Processes that Prometheus can scrape.',
        runbooks: ['TibaDown', 'TibaRestarts'],
      },
      `sum(up${JOB})`,
    ),
    number(
      {
        title: 'Ready',
        description: 'Whether every process says that it can answer requests.',
        values: { 0: 'no', 1: 'yes' },
        runbooks: ['TibaNotReady'],
      },
      'min(tiba_ready)',
    ),
    number(
      {
        title: 'Degraded',
        description: 'Whether a process answers only a part of the requests.',
        values: { 0: 'no', 1: 'yes' },
        runbooks: ['TibaDegraded'],
      },
      'max(tiba_degraded)',
    ),
    number(
      {
        title: 'Overdue',
        description: 'Transactions in PROCESS for longer than their bank usually takes.',
        runbooks: ['TibaTransactionsOverdue'],
      },
      'max(tiba_transactions_overdue)',
    ),
    number(
      {
        title: 'For review',
        description: 'Transfers that their bank does not know.',
        runbooks: ['TibaTransactionsForReview'],
      },
      'max(tiba_transactions_for_review)',
    ),
    number(
      {
        title: 'Oldest callback due',
        description: 'How long the oldest callback has been due. Below a minute is normal.',
        unit: 's',
        runbooks: ['TibaCallbackBacklog'],
      },
      'max(tiba_callback_oldest_due_seconds)',
    ),
    number(
      {
        title: 'Last update of the feed',
        description: 'How long ago the core told a status.',
        unit: 's',
        runbooks: ['TibaFeedSilent'],
      },
      'time() - max(tiba_feed_last_update_timestamp_seconds)',
    ),
  ],
};

const REQUESTS: Row = {
  title: 'Requests',
  panels: [
    {
      title: 'Requests by operation',
      description: 'Requests answered per second.',
      unit: 'reqps',
      queries: [rate('tiba_http_requests_total', 'route')],
    },
    {
      title: 'Errors by operation',
      description: 'Answers with a 5xx. 503 comes with Retry-After; 500 is a defect.',
      unit: 'reqps',
      queries: [rate('tiba_http_requests_total{status=~"5.."}', 'route', 'status')],
      runbooks: ['TibaInternalErrors', 'TibaUnavailableAnswers'],
    },
    {
      title: 'Time of status checks',
      description: 'Time until the answer.',
      unit: 's',
      queries: [0.5, 0.99].map((share) => quantile(share, 'tiba_http_request_duration_seconds', `{${STATUS_CHECK}}`)),
      runbooks: ['TibaStatusChecksSlow'],
    },
    {
      title: 'Time of account checks',
      description: "Time until the answer, the bank's included. None takes more than 5 s.",
      unit: 's',
      queries: [0.5, 0.99].map((share) => quantile(share, 'tiba_http_request_duration_seconds', `{${ACCOUNT_CHECK}}`)),
      runbooks: ['TibaBankUnavailable'],
    },
    {
      title: 'Refusals by client',
      description: 'Requests that a limit, a missing scope or an outage refused.',
      unit: 'reqps',
      queries: [rate('tiba_requests_refused_total', 'client_id', 'error_code')],
      runbooks: ['TibaClientRateLimited'],
    },
    {
      title: 'Refused before they have a client',
      description: 'Failed authentications, and connections beyond a limit.',
      unit: 'ops',
      queries: [
        rate('tiba_authentication_failures_total', 'outcome'),
        rate('tiba_connections_refused_total', 'listener', 'reason'),
      ],
      runbooks: ['TibaAuthenticationFailures', 'TibaConnectionsRefused'],
    },
  ],
};

const BANKS: Row = {
  title: 'Banks',
  panels: [
    {
      title: 'Account inquiries',
      description: 'By rail and outcome: an account status in capitals, or why there is no verdict.',
      unit: 'reqps',
      queries: [rate('tiba_inquiries_total', 'rail', 'outcome')],
      runbooks: ['TibaBankUnavailable'],
    },
    {
      title: 'Time of account inquiries',
      description: 'Time until a rail answered.',
      unit: 's',
      queries: [0.5, 0.99].map((share) => quantile(share, 'tiba_inquiry_duration_seconds', '', 'rail')),
      runbooks: ['TibaBankUnavailable'],
    },
    {
      title: 'Circuit breakers',
      description: 'Open: nothing is sent to the bank but a probe now and then.',
      unit: 'short',
      queries: [query('max by (rail, bank) (tiba_breaker_state)', '{{rail}} {{bank}}')],
      values: { 0: 'closed', 1: 'half open', 2: 'open' },
      runbooks: ['TibaBankUnavailable'],
    },
    {
      title: 'Inquiries not sent',
      description: 'Because the circuit breaker is open, too many are in flight, or the quota is used up.',
      unit: 'ops',
      queries: [rate('tiba_inquiries_not_sent_total', 'rail', 'reason')],
      runbooks: ['TibaInquiriesNotSent'],
    },
    {
      title: 'Quota left',
      description: 'Account inquiries that the contract with a bank still allows.',
      unit: 'short',
      queries: [query('min by (rail, window) (tiba_rail_quota_left)', '{{rail}} {{window}}')],
      runbooks: ['TibaDayQuotaUsedUp'],
    },
    {
      title: 'Status inquiries',
      description: 'About transfers in PROCESS, by rail and outcome.',
      unit: 'reqps',
      queries: [rate('tiba_status_inquiries_total', 'rail', 'outcome')],
      runbooks: ['TibaStatusInquiriesFailing', 'TibaTransactionsForReview'],
    },
  ],
};

const TRANSACTIONS: Row = {
  title: 'Transactions and callbacks',
  panels: [
    {
      title: 'Feed',
      description: 'Status updates of the core, by outcome.',
      unit: 'ops',
      queries: [rate('tiba_feed_lines_total', 'outcome')],
      runbooks: ['TibaFeedSilent'],
    },
    {
      title: 'Overdue and for review',
      description: 'In the whole installation.',
      unit: 'short',
      queries: [
        query('max(tiba_transactions_overdue)', 'overdue'),
        query('max(tiba_transactions_for_review)', 'for review'),
      ],
      runbooks: ['TibaTransactionsOverdue', 'TibaTransactionsForReview'],
    },
    {
      title: 'Callbacks',
      description: 'Attempts by outcome: delivered, failed (will retry), or exhausted.',
      unit: 'ops',
      queries: [
        rate('tiba_callback_attempts_total', 'outcome'),
        rate('tiba_callback_endpoints_disabled_total', 'reason'),
      ],
      runbooks: ['TibaCallbacksFailing', 'TibaCallbackEndpointDisabled'],
    },
    {
      title: 'Time of callbacks',
      description: 'Time until a receiver answered. None takes more than 15 s.',
      unit: 's',
      queries: [0.5, 0.99].map((share) => quantile(share, 'tiba_callback_attempt_duration_seconds', '')),
    },
    {
      title: 'Callbacks not delivered yet',
      description: 'Pending ones are due now or later: a receiver that is down gets retries for three days.',
      unit: 'short',
      queries: [query('max(tiba_callback_deliveries_pending)', 'pending')],
      runbooks: ['TibaCallbackBacklog'],
    },
    {
      title: 'Bulk validations',
      description: 'Rows that wait for a result, and results per second.',
      unit: 'short',
      queries: [
        query('max(tiba_account_validation_rows_waiting)', 'waiting'),
        rate('tiba_account_validation_accounts_total', 'result'),
      ],
    },
  ],
};

const DEPENDENCIES: Row = {
  title: 'Processes and what they depend on',
  panels: [
    {
      title: 'Connections to PostgreSQL',
      description: 'By pool and state.',
      unit: 'short',
      queries: [query('sum by (pool, state) (tiba_database_connections)', '{{pool}} {{state}}')],
      runbooks: ['TibaDatabaseQueriesWaiting'],
    },
    {
      title: 'Queries that wait for a connection',
      description: 'More than none for longer than a moment: PostgreSQL is slow, or the pool is too small.',
      unit: 'short',
      queries: [query('sum by (pool) (tiba_database_queries_waiting)', '{{pool}}')],
      runbooks: ['TibaDatabaseQueriesWaiting'],
    },
    {
      title: 'Valkey',
      description: 'Whether it decides on limits; decisions that processes made alone.',
      unit: 'short',
      queries: [query('min(tiba_valkey_up)', 'up'), rate('tiba_limit_decisions_alone_total', 'limiter')],
      runbooks: ['TibaValkeyAway'],
    },
    {
      title: 'Delay of the event loop',
      description: 'Beyond TIBA_EVENT_LOOP_DELAY_MS requests are rejected.',
      unit: 's',
      queries: [query(`max by (instance) (nodejs_eventloop_lag_p99_seconds${JOB})`, '{{instance}}')],
      runbooks: ['TibaEventLoopLate'],
    },
    {
      title: 'Memory',
      description: 'Resident memory of each process.',
      unit: 'bytes',
      queries: [query(`max by (instance) (process_resident_memory_bytes${JOB})`, '{{instance}}')],
    },
    {
      title: 'Processor time',
      description: 'A process uses one core: near 1 it is full.',
      unit: 'percentunit',
      queries: [query(`sum by (instance) (rate(process_cpu_seconds_total${JOB}${RANGE}))`, '{{instance}}')],
      runbooks: ['TibaEventLoopLate'],
    },
    {
      title: 'What is lost',
      description:
        'Log lines and spans dropped. Audit records that wait are not lost, but checks stop when they are many.',
      unit: 'ops',
      queries: [
        query(`sum(rate(tiba_log_lines_dropped_total${RANGE}))`, 'log lines dropped'),
        query(`sum(rate(tiba_trace_spans_total{outcome="dropped"}${RANGE}))`, 'spans dropped'),
        query('sum(tiba_audit_records_pending)', 'audit records waiting'),
      ],
      runbooks: ['TibaLogLinesDropped', 'TibaAuditBacklog'],
    },
    {
      title: 'Versions',
      description: 'More than one during an upgrade only.',
      unit: 'short',
      queries: [query('count by (version, node_version) (tiba_build_info)', '{{version}} on Node {{node_version}}')],
    },
    {
      title: 'Clocks',
      description: "How far the clocks of the processes are from PostgreSQL's.",
      unit: 's',
      queries: [query('max by (instance) (abs(tiba_clock_skew_seconds))', '{{instance}}')],
      runbooks: ['TibaClockSkew'],
    },
  ],
};

export const ROWS: readonly Row[] = [NOW, REQUESTS, BANKS, TRANSACTIONS, DEPENDENCIES];
