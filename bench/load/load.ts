/** Requests that differ in one number. NUMBER stands for it, once; it has NUMBER_DIGITS digits. */
export interface Requests {
  /** Such as `http://127.0.0.1:40123`. */
  readonly origin: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `random`: below a bound, so that all are requested. `counting`: none is requested twice. */
  readonly numbers: { readonly order: 'random'; readonly below: number } | { readonly order: 'counting' };
}

export const NUMBER = '{number}';
export const NUMBER_DIGITS = 10;
/** A counting run starts at this, times the number of the run: no run sends as many requests. */
export const NUMBERS_PER_RUN = 10_000_000;

export interface LoadRun {
  readonly requests: Requests;
  /** How many requests are in flight. */
  readonly connections: number;
  readonly seconds: number;
  /** From 1, different for each run; selects its numbers. */
  readonly run: number;
  readonly signal: AbortSignal;
}

export interface LoadResult {
  readonly answered: number;
  /** Responses with a status other than 2xx or 3xx, and requests without a response. */
  readonly failed: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A program that keeps a fixed number of requests in flight, each on its own connection. */
export interface Load {
  /** With its version. */
  readonly name: string;
  run(run: LoadRun): Promise<LoadResult>;
}

export const CONNECTIONS = 64;
