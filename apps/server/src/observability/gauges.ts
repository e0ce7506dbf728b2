import { Gauge, type Registry } from 'prom-client';

/**
 * The state at the time of a scrape, as opposed to what was counted since the start (metrics.ts). `aggregator` says how
 * the values of several processes become one; without it they are added up.
 */
export interface Gauges {
  /** Of the whole installation: every process reports the same. Absent while PostgreSQL cannot be read. */
  readonly backlog: {
    readonly overdue: Gauge;
    readonly reviews: Gauge;
    readonly deliveriesPending: Gauge;
    readonly oldestDueSeconds: Gauge;
    readonly validationRows: Gauge;
  };
  /** When this process applied a status update of the feed for the last time, in seconds since 1970. */
  readonly feedLastUpdate: Gauge;
  /** When this process last archived everything that was due, in seconds since 1970. Absent without an archive. */
  readonly archiveCompleted: Gauge;
  /** When this process last deleted all that was too old of each kind, in seconds since 1970. */
  readonly retentionCompleted: Gauge<'records'>;
  /** When the oldest record of each kind is from, in seconds since 1970. */
  readonly retentionOldest: Gauge<'records'>;
  readonly databaseConnections: Gauge<'pool' | 'state'>;
  readonly databaseWaiting: Gauge<'pool'>;
  readonly quotaLeft: Gauge<'rail' | 'window'>;
}

export function createGauges(registry: Registry): Gauges {
  const registers = [registry];
  const archiveCompleted = new Gauge({
    aggregator: 'max',
    name: 'tiba_archive_completed_timestamp_seconds',
    help: 'When this process last archived everything that was due, or its start. Absent without an archive.',
    registers,
  });
  archiveCompleted.remove();
  return {
    archiveCompleted,
    backlog: createBacklogGauges(registers),
    feedLastUpdate: new Gauge({
      aggregator: 'max',
      name: 'tiba_feed_last_update_timestamp_seconds',
      help: 'When this process applied a status update of the feed for the last time; its start before the first one.',
      registers,
    }),
    retentionCompleted: new Gauge({
      aggregator: 'max',
      name: 'tiba_retention_completed_timestamp_seconds',
      help: 'When this process last deleted all records of a kind that were too old, or its start.',
      labelNames: ['records'],
      registers,
    }),
    retentionOldest: new Gauge({
      aggregator: 'min',
      name: 'tiba_retention_oldest_timestamp_seconds',
      help: 'When the oldest record of each kind is from, as of a minute ago at most. Absent when there is none.',
      labelNames: ['records'],
      registers,
    }),
    databaseConnections: new Gauge({
      aggregator: 'sum',
      name: 'tiba_database_connections',
      help: 'Open connections to PostgreSQL by pool and state: idle or busy.',
      labelNames: ['pool', 'state'],
      registers,
    }),
    databaseWaiting: new Gauge({
      aggregator: 'sum',
      name: 'tiba_database_queries_waiting',
      help: 'Queries that wait for a connection to PostgreSQL, by pool.',
      labelNames: ['pool'],
      registers,
    }),
    quotaLeft: new Gauge({
      aggregator: 'min',
      name: 'tiba_rail_quota_left',
      help: 'Account inquiries that the contract with a bank still allows, by rail and window: second or day.',
      labelNames: ['rail', 'window'],
      registers,
    }),
  };
}

const createBacklogGauges = (registers: Registry[]): Gauges['backlog'] => ({
  overdue: new Gauge({
    aggregator: 'max',
    name: 'tiba_transactions_overdue',
    help: 'Transactions in PROCESS for longer than their bank usually takes, in the whole installation.',
    registers,
  }),
  reviews: new Gauge({
    aggregator: 'max',
    name: 'tiba_transactions_for_review',
    help: 'Transfers unknown to their bank for too long, in the whole installation: each needs a manual review.',
    registers,
  }),
  deliveriesPending: new Gauge({
    aggregator: 'max',
    name: 'tiba_callback_deliveries_pending',
    help: 'Callbacks that are not delivered yet, in the whole installation.',
    registers,
  }),
  oldestDueSeconds: new Gauge({
    aggregator: 'max',
    name: 'tiba_callback_oldest_due_seconds',
    help: 'How long the oldest callback that is due has been due, in the whole installation.',
    registers,
  }),
  validationRows: new Gauge({
    aggregator: 'max',
    name: 'tiba_account_validation_rows_waiting',
    help: 'Rows of running account validations without a result, in the whole installation.',
    registers,
  }),
});

/** Which program runs. Always 1. */
export function describeBuild(registry: Registry, version: string): void {
  new Gauge({
    aggregator: 'first',
    name: 'tiba_build_info',
    help: 'The version of Tiba and of Node.',
    labelNames: ['version', 'node_version'],
    registers: [registry],
  }).set({ version, node_version: process.version }, 1);
}
