/**
 * The operations that are counted: those of docs/contract.md 8, of which both forms of check-status share one
 * allowance; reading events; everything about callbacks; how banks are; and everything about account validations.
 */
export const LIMITED_OPERATIONS = [
  'check-status',
  'check-account',
  'events',
  'callbacks',
  'banks',
  'account-validations',
] as const;
export type LimitedOperation = (typeof LIMITED_OPERATIONS)[number];

/** The window over which requests are counted. */
export const WINDOW_MS = 60_000;

export interface Decision {
  readonly admitted: boolean;
  /** How many more would be admitted now. */
  readonly remaining: number;
  /**
   * Until the allowance grows: for a refused request, until it would be admitted. 0 when nothing is counted
   * yet, a whole window when the limit is 0: waiting never helps, and asking again at once even less.
   */
  readonly resetMs: number;
}

/**
 * Admits at most `limit` requests of a key in **any** window of `WINDOW_MS`. A refused request does not count.
 *
 * One process counts in its own memory and answers at once; a home shared by many processes answers with a promise.
 */
export interface Limiter {
  /** Counts a request, if it may pass. */
  take(key: string, limit: number): Decision | Promise<Decision>;
  /** Looks without counting. */
  peek(key: string, limit: number): Decision | Promise<Decision>;
}
