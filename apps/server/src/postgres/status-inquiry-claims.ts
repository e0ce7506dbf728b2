import type { Database } from './database.ts';
import type { TransactionKey } from './transactions.ts';

/**
 * A claim: until `claimedUntil`, only the process that holds it inquires about the transfer. Times are ISO 8601 UTC.
 */
export interface ClaimedStatusInquiry extends TransactionKey {
  readonly rail: string;
  readonly railReference: string;
  readonly amount: string;
  readonly currency: string;
  readonly createdAt: string;
  readonly bankCode: string;
  readonly accountNumber: string;
  /** How many steps of the schedule have passed. */
  readonly attempts: number;
  readonly unknownSince: string | null;
  readonly reviewSince: string | null;
  /** When the schedule's next inquiry was due. */
  readonly dueAt: string;
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
  attempts: number;
  unknown_since: Date | null;
  review_since: Date | null;
  due_at: Date;
  claimed_until: Date;
}

/** The names of rails for which an inquiry is due, whether or not such a rail is configured. */
export async function findRailsWithDueInquiries(database: Database, now: string): Promise<string[]> {
  // A loose index scan: it jumps from rail to rail, and reads none of the rows between.
  const rows = await database.query<{ rail: string }>(
    `with recursive rails as (
       (select rail from tiba.status_inquiries order by rail limit 1)
       union all
       select (select i.rail from tiba.status_inquiries i where i.rail > rails.rail order by i.rail limit 1)
         from rails where rails.rail is not null
     )
     select rail from rails
      where rail is not null
        and exists (select from tiba.status_inquiries i where i.rail = rails.rail and i.next_at <= $1)`,
    [now],
    'rails-with-due-inquiries',
  );
  return rows.map(({ rail }) => rail);
}

const CLAIM_ASSIGNMENTS = 'next_at = $2, claimed_until = $2, last_inquired_at = $1';

const CLAIMED_COLUMNS = `
         i.client_id, i.transaction_id, i.rail, t.rail_reference, t.amount::text, t.currency, t.created_at,
         t.bank_code, t.account_number, i.attempts, i.unknown_since, i.review_since, due.next_at as due_at,
         i.claimed_until`;

const JOIN_DUE = `i.client_id = due.client_id and i.transaction_id = due.transaction_id
     and t.client_id = i.client_id and t.transaction_id = i.transaction_id`;

/** Claims due inquiries of the rail, the longest due first. Concurrent claims get different inquiries. */
export async function claimDueStatusInquiries(
  database: Database,
  {
    rail,
    now,
    claimedUntil,
    limit,
  }: { readonly rail: string; readonly now: string; readonly claimedUntil: string; readonly limit: number },
): Promise<ClaimedStatusInquiry[]> {
  const rows = await database.query<ClaimedRow>(
    `with due as (
       select client_id, transaction_id, next_at from tiba.status_inquiries
        where rail = $3 and next_at <= $1
        order by next_at limit $4
        for update skip locked
     )
     update tiba.status_inquiries i set ${CLAIM_ASSIGNMENTS}
       from due, tiba.transactions t where ${JOIN_DUE}
     returning ${CLAIMED_COLUMNS}`,
    [now, claimedUntil, rail, limit],
    'claim-due-status-inquiries',
  );
  return rows.map(fromRow);
}

/** Conditions for an inquiry about one transaction ahead of its schedule. */
export interface RefreshConditions {
  readonly now: string;
  readonly claimedUntil: string;
  /** Only these rails. */
  readonly rails: readonly string[];
  /** Only if the last inquiry was not after this time. */
  readonly lastInquiredBefore: string;
  /** The same, for a transaction under review. */
  readonly lastInquiredBeforeInReview: string;
}

/**
 * Claims the inquiry about one transaction, due or not. `lastInquiredAt` is the time of the previous inquiry. Both are
 * null when the transaction has no inquiries.
 */
export async function claimStatusInquiry(
  database: Database,
  { clientId, transactionId }: TransactionKey,
  { now, claimedUntil, rails, lastInquiredBefore, lastInquiredBeforeInReview }: RefreshConditions,
): Promise<{ readonly claimed: ClaimedStatusInquiry | null; readonly lastInquiredAt: string | null }> {
  const [row] = await database.query<Partial<ClaimedRow> & { previously_inquired_at: Date | null }>(
    `with due as (
       select client_id, transaction_id, next_at from tiba.status_inquiries
        where client_id = $3 and transaction_id = $4 and rail = any ($5)
          and (claimed_until is null or claimed_until <= $1)
          and (last_inquired_at is null
               or last_inquired_at <= case when review_since is null then $6 else $7 end::timestamptz)
        for update skip locked
     ), claimed as (
       update tiba.status_inquiries i set ${CLAIM_ASSIGNMENTS}
         from due, tiba.transactions t where ${JOIN_DUE}
       returning ${CLAIMED_COLUMNS}
     )
     -- Reads the row as it was before the statement began.
     select claimed.*, previous.last_inquired_at as previously_inquired_at
       from tiba.status_inquiries previous left join claimed on true
      where previous.client_id = $3 and previous.transaction_id = $4`,
    [now, claimedUntil, clientId, transactionId, rails, lastInquiredBefore, lastInquiredBeforeInReview],
    'claim-status-inquiry',
  );
  return {
    claimed: row?.claimed_until instanceof Date ? fromRow(row as ClaimedRow) : null,
    lastInquiredAt: row?.previously_inquired_at?.toISOString() ?? null,
  };
}

export interface Postponement {
  readonly rail: string;
  readonly dueBefore: string;
  readonly nextAt: string;
  readonly limit: number;
}

/** Postpones inquiries of the rail that were due before `dueBefore` and that no process has claimed. */
export async function postponeDueStatusInquiries(
  database: Database,
  { rail, dueBefore, nextAt, limit }: Postponement,
): Promise<void> {
  await database.query(
    `with due as (
       select client_id, transaction_id from tiba.status_inquiries
        where rail = $1 and next_at <= $2
        order by next_at limit $4
        for update skip locked
     )
     update tiba.status_inquiries i set next_at = $3
       from due where i.client_id = due.client_id and i.transaction_id = due.transaction_id`,
    [rail, dueBefore, nextAt, limit],
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
  attempts: row.attempts,
  unknownSince: row.unknown_since?.toISOString() ?? null,
  reviewSince: row.review_since?.toISOString() ?? null,
  dueAt: row.due_at.toISOString(),
  claimedUntil: row.claimed_until.toISOString(),
});
