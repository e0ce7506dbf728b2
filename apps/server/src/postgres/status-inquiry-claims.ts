import type { Database } from './database.ts';
import type { TransactionKey } from './transactions.ts';

/** A transfer that whoever holds this may ask about, and nobody else, until `claimedUntil`. Times are ISO 8601 UTC. */
export interface ClaimedStatusInquiry extends TransactionKey {
  readonly rail: string;
  readonly railReference: string;
  readonly amount: string;
  readonly currency: string;
  readonly createdAt: string;
  readonly bankCode: string;
  readonly accountNumber: string;
  /** How many steps of the schedule are behind it. */
  readonly attempts: number;
  readonly unknownSince: string | null;
  readonly reviewSince: string | null;
  /** When it would have been asked about by the schedule. */
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

/** The names of the rails that something is due at, whether or not such a rail exists. */
export async function findRailsWithDueInquiries(database: Database, now: string): Promise<string[]> {
  // From name to name by the index: the rows between are not read, however many there are.
  const rows = await database.query<{ rail: string }>(
    `with recursive names as (
       (select rail from tiba.status_inquiries order by rail limit 1)
       union all
       select (select i.rail from tiba.status_inquiries i where i.rail > names.rail order by i.rail limit 1)
         from names where names.rail is not null
     )
     select rail from names
      where rail is not null
        and exists (select from tiba.status_inquiries i where i.rail = names.rail and i.next_at <= $1)`,
    [now],
    'rails-due',
  );
  return rows.map(({ rail }) => rail);
}

const ASKING = 'next_at = $2, claimed_until = $2, last_inquired_at = $1';

const CLAIMED = `i.client_id, i.transaction_id, i.rail, t.rail_reference, t.amount::text, t.currency, t.created_at,
         t.bank_code, t.account_number, i.attempts, i.unknown_since, i.review_since, due.next_at as due_at,
         i.claimed_until`;

const OF_DUE = `i.client_id = due.client_id and i.transaction_id = due.transaction_id
     and t.client_id = i.client_id and t.transaction_id = i.transaction_id`;

/** Claims what is due at the rail, the longest due first. Whoever claims at the same time gets others. */
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
     update tiba.status_inquiries i set ${ASKING}
       from due, tiba.transactions t where ${OF_DUE}
     returning ${CLAIMED}`,
    [now, claimedUntil, rail, limit],
    'claim-due-inquiries',
  );
  return rows.map(fromRow);
}

/** When one transaction may be asked about out of turn. */
export interface RefreshConditions {
  readonly now: string;
  readonly claimedUntil: string;
  /** At these rails only. */
  readonly rails: readonly string[];
  /** Not when it was asked about after this. */
  readonly lastInquiredBefore: string;
  /** The same for one that is under review. */
  readonly lastInquiredBeforeInReview: string;
}

/** Claims one transaction, due or not. `lastInquiredAt` is when it was asked about before; both null when there is nothing to ask. */
export async function claimStatusInquiry(
  database: Database,
  { clientId, transactionId }: TransactionKey,
  { now, claimedUntil, rails, lastInquiredBefore, lastInquiredBeforeInReview }: RefreshConditions,
): Promise<{ readonly claimed: ClaimedStatusInquiry | null; readonly lastInquiredAt: string | null }> {
  const [row] = await database.query<Partial<ClaimedRow> & { asked_before: Date | null }>(
    `with due as (
       select client_id, transaction_id, next_at from tiba.status_inquiries
        where client_id = $3 and transaction_id = $4 and rail = any ($5)
          and (claimed_until is null or claimed_until <= $1)
          and (last_inquired_at is null or last_inquired_at <= case when review_since is null then $6 else $7 end::timestamptz)
        for update skip locked
     ), claimed as (
       update tiba.status_inquiries i set ${ASKING}
         from due, tiba.transactions t where ${OF_DUE}
       returning ${CLAIMED}
     )
     -- Read as it was before the statement began.
     select claimed.*, known.last_inquired_at as asked_before
       from tiba.status_inquiries known left join claimed on true
      where known.client_id = $3 and known.transaction_id = $4`,
    [now, claimedUntil, clientId, transactionId, rails, lastInquiredBefore, lastInquiredBeforeInReview],
    'claim-inquiry',
  );
  return {
    claimed: row?.claimed_until instanceof Date ? fromRow(row as ClaimedRow) : null,
    lastInquiredAt: row?.asked_before?.toISOString() ?? null,
  };
}

export interface Postponement {
  readonly rail: string;
  readonly dueBefore: string;
  readonly nextAt: string;
  readonly limit: number;
}

/** Puts off what was due at the rail before `dueBefore` and nobody has asked. */
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
