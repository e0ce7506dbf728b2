import type { StatusUpdate, UpdateResult } from '../domain/transaction.ts';

/** A word with where it stood and how it was put. */
export interface ReceivedUpdate {
  /** From 1: the line of an NDJSON feed, the place in a JSON array. */
  readonly line: number;
  /** JSON text, as it came. */
  readonly raw: string;
  readonly update: StatusUpdate;
  /** Who says it: the client_id of a feed, or a rail. */
  readonly source: string;
}

export interface AppliedUpdate {
  readonly line: number;
  readonly transactionId: string;
  readonly outcome: UpdateResult['outcome'];
  readonly reason: string | null;
}
