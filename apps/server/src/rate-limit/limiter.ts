/**
 * The operations whose requests are counted (docs/contract.md 8.1). Both forms of check-status share one limit, as do
 * all operations on callbacks, on banks, and on account validations.
 */
export const LIMITED_OPERATIONS = [
  'check-status',
  'check-account',
  'events',
  'callbacks',
  'banks',
  'account-validations',
  'transactions',
  'account-checks',
] as const;
export type LimitedOperation = (typeof LIMITED_OPERATIONS)[number];

/** The window in which requests are counted. */
export const WINDOW_MS = 60_000;

export interface Decision {
  readonly admitted: boolean;
  /** The number of requests that would be admitted now. */
  readonly remaining: number;
  /**
   * The time until `remaining` grows; for a request over the limit, the time until it would be admitted. 0 when nothing
   * is counted yet. A whole window when the request costs more than the limit, such as any request at a limit of 0:
   * waiting never helps, and repeating at once helps even less.
   */
  readonly resetMs: number;
}

/**
 * Admits at most `limit` requests of a key in **any** window of `WINDOW_MS`. A request over the limit is not counted.
 *
 * A limiter in this process's memory returns at once; one that several processes share returns a promise.
 */
export interface Limiter {
  /** Counts the request if it is admitted: as `cost` requests (by default 1), and all of them or none. */
  take(key: string, limit: number, cost?: number): Decision | Promise<Decision>;
  /** The same decision without counting. */
  peek(key: string, limit: number, cost?: number): Decision | Promise<Decision>;
}
