import type { Observed, Word } from '../domain/transaction.ts';

/** A word with where it stood and how it was put. */
export interface SaidWord {
  /** From 1: the line of an NDJSON feed, the place in a JSON array. */
  readonly line: number;
  /** JSON text, as it came. */
  readonly said: string;
  readonly word: Word;
  /** Who says it: the client_id of a feed, or a rail. */
  readonly source: string;
}

export interface Applied {
  readonly line: number;
  readonly transactionId: string;
  readonly outcome: Observed['outcome'];
  readonly reason: string | null;
}
