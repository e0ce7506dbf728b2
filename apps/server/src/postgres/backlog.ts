import type { Database } from './database.ts';

/** What waits in the whole installation. Each count stops at 100,000, so that reading it stays cheap. */
export interface Backlog {
  /** Transactions in PROCESS for longer than their bank usually takes. */
  readonly overdue: number;
  /** Transfers that stayed unknown to their bank for too long. */
  readonly reviews: number;
  readonly deliveriesPending: number;
  /** How long the oldest due delivery of an enabled endpoint and client has been due. 0 when none is due. */
  readonly oldestDueSeconds: number;
  /** Rows of running account validations without a result. */
  readonly validationRows: number;
}

const BACKLOG_COUNT_MAX = 100_000;

/**
 * The oldest delivery is looked up endpoint by endpoint: each look-up reads one entry of `callback_outbox_due`, after
 * those that are claimed.
 */
export async function readBacklog(database: Database): Promise<Backlog> {
  const [backlog] = await database.query<Backlog & Record<string, unknown>>(
    `select
       (select count(*)::integer from (
         select 1 from tiba.transactions where status = 'PROCESS' and overdue_since is not null limit $1
       ) counted) as overdue,
       (select count(*)::integer from (
         select 1 from tiba.status_inquiries where review_since is not null limit $1
       ) counted) as reviews,
       (select least(coalesce(sum(deliveries), 0), $1)::integer from (
         (select 1 as deliveries from tiba.callback_outbox where state = 'pending' limit $1)
         union all
         (select last_sequence - first_sequence + 1 from tiba.callback_outbox_ranges limit $1)
       ) counted) as "deliveriesPending",
       (select coalesce(extract(epoch from max(greatest(now() - oldest.next_attempt_at, interval '0'))), 0)::float8
          from tiba.callback_endpoints e
          join tiba.clients c on c.client_id = e.client_id
         cross join lateral (
           (select d.next_attempt_at from tiba.callback_outbox d
             where d.client_id = e.client_id and d.endpoint_id = e.endpoint_id and d.state = 'pending'
               and (d.claimed_until is null or d.claimed_until <= now())
             order by d.next_attempt_at
             limit 1)
           union all
           (select r.due_at from tiba.callback_outbox_ranges r
             where r.client_id = e.client_id and r.endpoint_id = e.endpoint_id
             order by r.last_sequence
             limit 1)
         ) oldest
         where e.disabled_at is null and c.disabled_at is null) as "oldestDueSeconds",
       (select coalesce(sum(row_count - last_sequence), 0)::integer
          from tiba.account_validations
         where state = 'RUNNING') as "validationRows"`,
    [BACKLOG_COUNT_MAX],
    'backlog',
  );
  if (backlog === undefined) throw new Error('the backlog query returned no row');
  return backlog;
}
