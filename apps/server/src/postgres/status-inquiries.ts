import type { Database, Query } from './database.ts';
import { byClient, ofClient } from './distributed/one-client.ts';
import type { ClaimedStatusInquiry } from './status-inquiry-claims.ts';
import type { TransactionKey } from './transactions.ts';

export interface NewStatusInquiry extends TransactionKey {
  readonly rail: string;
  /** From now to the first inquiry. */
  readonly delayMs: number;
}

/** Schedules status inquiries about each transaction over its rail. */
export async function beginStatusInquiries(query: Query, transactions: readonly NewStatusInquiry[]): Promise<void> {
  if (transactions.length === 0) return;
  await query(
    `insert into tiba.status_inquiries (client_id, transaction_id, rail, next_at)
     select client_id, transaction_id, rail, now() + delay_ms * interval '1 millisecond'
       from unnest($1::text[], $2::text[], $3::text[], $4::float8[]) as k (client_id, transaction_id, rail, delay_ms)
      order by client_id, transaction_id
     on conflict do nothing`,
    [
      transactions.map(({ clientId }) => clientId),
      transactions.map(({ transactionId }) => transactionId),
      transactions.map(({ rail }) => rail),
      transactions.map(({ delayMs }) => delayMs),
    ],
    'begin-status-inquiries',
  );
}

/** Ends the status inquiries about these transactions. */
export async function endStatusInquiries(query: Query, keys: readonly TransactionKey[]): Promise<void> {
  if (keys.length === 0) return;
  await query(
    `delete from tiba.status_inquiries i
      using unnest($1::text[], $2::text[]) as k (client_id, transaction_id)
      where i.client_id = k.client_id collate "C" and i.transaction_id = k.transaction_id collate "C"
            ${ofClient('i')}`,
    [keys.map((key) => key.clientId), keys.map((key) => key.transactionId)],
    'end-status-inquiries',
  );
}

/** The schedule after an inquiry. Times are ISO 8601 UTC. */
export interface NextStatusInquiry {
  readonly nextAt: string;
  readonly attempts: number;
  readonly unknownSince: string | null;
  readonly reviewSince: string | null;
}

/**
 * Releases claims and stores when the next inquiries are due. A claim whose lease has ended and that another process
 * has taken over is left to that process.
 */
export const releaseStatusInquiries = (database: Database, inquiries: readonly ReleasedInquiry[]): Promise<void> =>
  byClient(
    database,
    inquiries.map((each) => ({ ...each, clientId: each.claimed.clientId })),
    release,
  );

interface ReleasedInquiry {
  readonly claimed: ClaimedStatusInquiry;
  readonly next: NextStatusInquiry;
}

async function release(database: Database, inquiries: readonly ReleasedInquiry[]): Promise<void> {
  if (inquiries.length === 0) return;
  // Skips locked rows: a transaction that holds such a lock is ending the inquiries, and waiting for it could deadlock.
  await database.query(
    `with released as (
       select i.client_id, i.transaction_id, k.next_at, k.attempts, k.unknown_since, k.review_since
         from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::int[], $6::timestamptz[],
                     $7::timestamptz[])
              as k (client_id, transaction_id, claimed_until, next_at, attempts, unknown_since, review_since)
         join tiba.status_inquiries i
           on i.client_id = k.client_id collate "C" and i.transaction_id = k.transaction_id collate "C"
          and i.claimed_until = k.claimed_until ${ofClient('i')}
          for update of i skip locked
     )
     update tiba.status_inquiries i
        set next_at = released.next_at, claimed_until = null, attempts = released.attempts,
            unknown_since = released.unknown_since, review_since = released.review_since
       from released
      where i.client_id = released.client_id and i.transaction_id = released.transaction_id ${ofClient('i')}`,
    [
      inquiries.map(({ claimed }) => claimed.clientId),
      inquiries.map(({ claimed }) => claimed.transactionId),
      inquiries.map(({ claimed }) => claimed.claimedUntil),
      inquiries.map((each) => each.next.nextAt),
      inquiries.map((each) => each.next.attempts),
      inquiries.map((each) => each.next.unknownSince),
      inquiries.map((each) => each.next.reviewSince),
    ],
    'release-status-inquiries',
  );
}

/** A transaction in PROCESS that its bank says it does not know: the money may or may not have left. */
export interface InquiryReview extends TransactionKey {
  readonly rail: string;
  readonly railReference: string;
  /** ISO 8601 UTC, as are the others. */
  readonly createdAt: string;
  readonly unknownSince: string;
  readonly reviewSince: string;
  readonly lastInquiredAt: string;
}

/** Transactions under review, the longest first. Reads across clients, for the operator. */
export async function listInquiryReviews(database: Database, limit: number): Promise<InquiryReview[]> {
  const rows = await database.query<ReviewRow>(
    `select i.client_id, i.transaction_id, i.rail, t.rail_reference, t.created_at, i.unknown_since, i.review_since,
            i.last_inquired_at
       from tiba.status_inquiries i join tiba.transactions t using (client_id, transaction_id)
      where i.review_since is not null order by i.review_since limit $1`,
    [limit],
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    transactionId: row.transaction_id,
    rail: row.rail,
    railReference: row.rail_reference,
    createdAt: row.created_at.toISOString(),
    unknownSince: row.unknown_since.toISOString(),
    reviewSince: row.review_since.toISOString(),
    lastInquiredAt: row.last_inquired_at.toISOString(),
  }));
}

/**
 * Ends the review of a transaction: its bank is asked again at once, or when the lease of an inquiry
 * in flight ends, and a new review begins when the bank still does
 * not know the transfer after the same time. Returns since when it was under review; null if it was not.
 */
export async function endInquiryReview(
  database: Pick<Database, 'query'>,
  { clientId, transactionId }: TransactionKey,
): Promise<string | null> {
  const [row] = await database.query<{ review_since: Date }>(
    `with reviewed as (
       -- An inquiry that is in flight keeps its lease, but no longer holds this claim: what it would store is older.
       select client_id, transaction_id, review_since, claimed_until + interval '1 millisecond' as lease_end
         from tiba.status_inquiries
        where client_id = $1 and transaction_id = $2 and review_since is not null for update
     ), ended as (
       update tiba.status_inquiries i
          set unknown_since = null, review_since = null, claimed_until = reviewed.lease_end,
              next_at = greatest(now(), reviewed.lease_end)
         from reviewed where i.client_id = $1 and i.transaction_id = reviewed.transaction_id
     )
     select review_since from reviewed`,
    [clientId, transactionId],
  );
  return row?.review_since.toISOString() ?? null;
}

/** Since when the transaction is under review, null if it is not; locked until the database transaction ends. */
export async function lockInquiryReview(
  inside: Pick<Database, 'query'>,
  { clientId, transactionId }: TransactionKey,
): Promise<string | null> {
  const [row] = await inside.query<{ review_since: Date | null }>(
    'select review_since from tiba.status_inquiries where client_id = $1 and transaction_id = $2 for update',
    [clientId, transactionId],
  );
  return row?.review_since?.toISOString() ?? null;
}

interface ReviewRow extends Record<string, unknown> {
  client_id: string;
  transaction_id: string;
  rail: string;
  rail_reference: string;
  created_at: Date;
  unknown_since: Date;
  review_since: Date;
  last_inquired_at: Date;
}
