/** Requests that differ in one number. Where it goes, once, stands NUMBER; it has NUMBER_DIGITS digits. */
export interface Requests {
  /** Such as `http://127.0.0.1:40123`. */
  readonly origin: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `random` below a bound, so that all are asked for; `counting`, so that none comes twice. */
  readonly numbers: { readonly order: 'random'; readonly below: number } | { readonly order: 'counting' };
}

export const NUMBER = '{number}';
export const NUMBER_DIGITS = 10;
/** A run that counts begins here, times its own number: far above what any run gets to. */
export const NUMBERS_PER_RUN = 10_000_000;

export interface LoadRun {
  readonly requests: Requests;
  readonly seconds: number;
  /** From 1, different for each run: decides which numbers it uses. */
  readonly run: number;
  readonly signal: AbortSignal;
}

export interface LoadResult {
  readonly answered: number;
  /** Answered with another status than 2xx or 3xx, or not at all. */
  readonly failed: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A program that keeps a fixed number of requests in flight, each on its own connection. */
export interface Load {
  /** With its version. */
  readonly name: string;
  readonly connections: number;
  run(run: LoadRun): Promise<LoadResult>;
}

export const CONNECTIONS = 64;
