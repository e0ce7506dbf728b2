import type { Database } from './database.ts';
import { byClient, databaseOfClient, ofClient, queryOverClients } from './distributed/one-client.ts';
import type { TransactionKey } from './transactions.ts';

/**
 * A claim: until `claimedUntil`, only the process that holds it inquires about the transfer. Times are ISO 8601 UTC.
 *
 * Only PostgreSQL's clock decides what is due and when a lease ends: a process whose own clock is ahead would otherwise
 * take over all inquiries, the ones that other processes have in flight included.
 */
export interface ClaimedStatusInquiry extends TransactionKey {
  readonly rail: string;
  readonly railReference: string;
  readonly amount: string;
  readonly currency: string;
  readonly createdAt: string;
  readonly bankCode: string;
  readonly accountNumber: string;
  readonly serviceCode: string | null;
  /** How many steps of the schedule have passed. */
  readonly attempts: number;
  readonly unknownSince: string | null;
  readonly reviewSince: string | null;
  /** When the schedule's next inquiry was due. */
  readonly dueAt: string;
  readonly claimedAt: string;
  readonly claimedUntil: string;
}

interface ClaimedRow extends Record<string, unknown> {
  client_id: string;
  transaction_id: string;
  rail: string;
  rail_reference: string;
  amount: string;
  currency: string;
  created_at: Date;
  bank_code: string;
  account_number: string;
  service_code: string | null;
  attempts: number;
  unknown_since: Date | null;
  review_since: Date | null;
  due_at: Date;
  claimed_at: Date;
  claimed_until: Date;
}

/** The names of rails for which an inquiry is due, whether or not such a rail is configured. */
export async function findRailsWithDueInquiries(database: Database): Promise<string[]> {
  const rows = database.distributed
    ? await queryOverClients<{ rail: string }>(database, DUE_RAILS_DISTRIBUTED_SQL)
    : await database.query<{ rail: string }>(DUE_RAILS_SQL, [], 'rails-with-due-inquiries');
  return [...new Set(rows.map(({ rail }) => rail))];
}

// A loose index scan: it jumps from rail to rail, and reads none of the rows between.
const DUE_RAILS_SQL = `
with recursive rails as (
  (select rail from tiba.status_inquiries order by rail limit 1)
  union all
  select (select i.rail from tiba.status_inquiries i where i.rail > rails.rail order by i.rail limit 1)
    from rails where rails.rail is not null
)
select rail from rails
 where rail is not null
   and exists (select from tiba.status_inquiries i where i.rail = rails.rail and i.next_at <= now())`;

/** A recursion would have to go from node to node. */
const DUE_RAILS_DISTRIBUTED_SQL = `
select distinct i.rail from tiba.status_inquiries i where i.next_at <= now() ${ofClient('i')}`;

// The end of the lease identifies the claim when it is released, and a time in JavaScript has no microseconds.
const NOW = "date_trunc('milliseconds', now())";
const LEASE_END = `${NOW} + $1 * interval '1 millisecond'`;
const CLAIM_ASSIGNMENTS = `next_at = ${LEASE_END}, claimed_until = ${LEASE_END}, last_inquired_at = ${NOW}`;

const CLAIMED_COLUMNS = `
         i.client_id, i.transaction_id, i.rail, t.rail_reference, t.amount::text, t.currency, t.created_at,
         t.bank_code, t.account_number, t.service_code, i.attempts, i.unknown_since, i.review_since,
         due.next_at as due_at, i.last_inquired_at as claimed_at, i.claimed_until`;

const JOIN_DUE = `i.client_id = due.client_id and i.transaction_id = due.transaction_id ${ofClient('i')}
     and t.client_id = i.client_id and t.transaction_id = i.transaction_id ${ofClient('t')}`;

/** Claims due inquiries of the rail, the longest due first. Concurrent claims get different inquiries. */
export async function claimDueStatusInquiries(
  database: Database,
  { rail, leaseMs, limit }: { readonly rail: string; readonly leaseMs: number; readonly limit: number },
): Promise<ClaimedStatusInquiry[]> {
  const claimed: ClaimedStatusInquiry[] = [];
  const claim = async (own: Database, count: number): Promise<void> => {
    const rows = await own.query<ClaimedRow>(CLAIM_DUE_SQL, [leaseMs, rail, count], 'claim-due-status-inquiries');
    for (const row of rows) claimed.push(fromRow(row));
  };
  if (database.distributed) {
    const due = await findDue(database, { rail, overdueMs: 0, limit });
    await byClient(database, due, (own, { length }) => claim(own, length));
  } else {
    await claim(database, limit);
  }
  return claimed;
}

const CLAIM_DUE_SQL = `
with due as (
  select d.client_id, d.transaction_id, d.next_at from tiba.status_inquiries d
   where d.rail = $2 and d.next_at <= now() ${ofClient('d')}
   order by d.next_at limit $3
   for update skip locked
)
update tiba.status_inquiries i set ${CLAIM_ASSIGNMENTS}
  from due, tiba.transactions t where ${JOIN_DUE}
returning ${CLAIMED_COLUMNS}`;

/** Of a distributed PostgreSQL, which locks the rows of one client at a time. Others may claim them meanwhile. */
async function findDue(
  database: Database,
  { rail, overdueMs, limit }: Pick<Postponement, 'rail' | 'overdueMs' | 'limit'>,
): Promise<TransactionKey[]> {
  const rows = await queryOverClients<{ client_id: string; transaction_id: string }>(
    database,
    `select d.client_id, d.transaction_id from tiba.status_inquiries d
      where d.rail = $1 and d.next_at <= now() - $2 * interval '1 millisecond' ${ofClient('d')}
      order by d.next_at limit $3`,
    [rail, overdueMs, limit],
  );
  return rows.slice(0, limit).map((row) => ({ clientId: row.client_id, transactionId: row.transaction_id }));
}

/** Conditions for an inquiry about one transaction ahead of its schedule. */
export interface RefreshConditions {
  readonly leaseMs: number;
  /** Only if the last inquiry was at least as long ago. */
  readonly staleMs: number;
  /** The same, for a transaction under review. */
  readonly staleInReviewMs: number;
  /** Only if the first inquiry has been made, or is due: the bank expects none before. */
  readonly notBeforeFirst: boolean;
}

/**
 * Claims the inquiry about one transaction over this rail, due or not. `inquiredMsAgo` is the age of the previous
 * inquiry. Both are null when the transaction has no inquiries.
 */
export async function claimStatusInquiry(
  database: Database,
  { clientId, transactionId, rail }: TransactionKey & { readonly rail: string },
  { leaseMs, staleMs, staleInReviewMs, notBeforeFirst }: RefreshConditions,
): Promise<{ readonly claimed: ClaimedStatusInquiry | null; readonly inquiredMsAgo: number | null }> {
  const [row] = await databaseOfClient(database, clientId).query<
    Partial<ClaimedRow> & { inquired_ms_ago: number | null }
  >(
    `with due as (
       select client_id, transaction_id, next_at from tiba.status_inquiries
        where client_id = $2 and transaction_id = $3 and rail = $4
          and (claimed_until is null or claimed_until <= now())
          and (last_inquired_at is null
               or last_inquired_at <= now() - case when review_since is null then $5::float8 else $6::float8 end
                                              * interval '1 millisecond')
          and (not $7::boolean or last_inquired_at is not null or next_at <= now())
        for update skip locked
     ), claimed as (
       update tiba.status_inquiries i set ${CLAIM_ASSIGNMENTS}
         from due, tiba.transactions t where ${JOIN_DUE}
       returning ${CLAIMED_COLUMNS}
     )
     -- Reads the row as it was before the statement began.
     select claimed.*, extract(epoch from now() - previous.last_inquired_at)::float8 * 1000 as inquired_ms_ago
       from tiba.status_inquiries previous left join claimed on true
      where previous.client_id = $2 and previous.transaction_id = $3`,
    [leaseMs, clientId, transactionId, rail, staleMs, staleInReviewMs, notBeforeFirst],
    'claim-status-inquiry',
  );
  return {
    claimed: row?.claimed_until instanceof Date ? fromRow(row as ClaimedRow) : null,
    inquiredMsAgo: row?.inquired_ms_ago ?? null,
  };
}

export interface Postponement {
  readonly rail: string;
  /** How long ago the inquiries must have been due. */
  readonly overdueMs: number;
  /** When they are due again, from now. */
  readonly delayMs: number;
  readonly limit: number;
}

/** Postpones inquiries of the rail that have been due for `overdueMs` and that no process has claimed. */
export async function postponeDueStatusInquiries(database: Database, postponement: Postponement): Promise<void> {
  if (!database.distributed) return postpone(database, postponement);
  const due = await findDue(database, postponement);
  await byClient(database, due, (own, { length }) => postpone(own, { ...postponement, limit: length }));
}

async function postpone(database: Database, { rail, overdueMs, delayMs, limit }: Postponement): Promise<void> {
  await database.query(
    `with due as (
       select d.client_id, d.transaction_id from tiba.status_inquiries d
        where d.rail = $1 and d.next_at <= now() - $2 * interval '1 millisecond' ${ofClient('d')}
        order by d.next_at limit $4
        for update skip locked
     )
     update tiba.status_inquiries i set next_at = now() + $3 * interval '1 millisecond'
       from due where i.client_id = due.client_id and i.transaction_id = due.transaction_id ${ofClient('i')}`,
    [rail, overdueMs, delayMs, limit],
  );
}

const fromRow = (row: ClaimedRow): ClaimedStatusInquiry => ({
  clientId: row.client_id,
  transactionId: row.transaction_id,
  rail: row.rail,
  railReference: row.rail_reference,
  amount: row.amount,
  currency: row.currency,
  createdAt: row.created_at.toISOString(),
  bankCode: row.bank_code,
  accountNumber: row.account_number,
  serviceCode: row.service_code,
  attempts: row.attempts,
  unknownSince: row.unknown_since?.toISOString() ?? null,
  reviewSince: row.review_since?.toISOString() ?? null,
  dueAt: row.due_at.toISOString(),
  claimedAt: row.claimed_at.toISOString(),
  claimedUntil: row.claimed_until.toISOString(),
});
