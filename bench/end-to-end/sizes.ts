import type { Options } from '../options.ts';

/** How much of everything. */
export interface Sizes {
  /** Transactions that each service knows before. */
  readonly past: number;
  readonly rounds: number;
  readonly roundSeconds: number;
  /** While callbacks are measured. */
  readonly changesPerSecond: number;
  /** So many callbacks are due at the beginning of each round. */
  readonly backlog: number;
  readonly backlogRounds: number;
  /** Of rounds that begin with a backlog, and of what the service is compared with. */
  readonly shortSeconds: number;
  /** Of what is measured once. */
  readonly warmUpSeconds: number;
  readonly flushedSeconds: number;
  /** How many wait at once. */
  readonly waiting: number;
  readonly waitingChangesPerSecond: number;
  readonly waitingSeconds: number;
  /** How long it is watched while nothing happens. */
  readonly idleSeconds: number;
}

export const sizesOf = ({ quick, rounds, roundSeconds }: Options): Sizes => ({
  past: quick ? 10_000 : 50_000,
  rounds,
  roundSeconds,
  changesPerSecond: quick ? 50 : 200,
  backlog: quick ? 1_000 : 20_000,
  backlogRounds: Math.min(rounds, 3),
  shortSeconds: Math.max(1, Math.floor(roundSeconds / 2)),
  warmUpSeconds: quick ? 1 : 3,
  flushedSeconds: quick ? 1 : 5,
  waiting: quick ? 200 : 5_000,
  waitingChangesPerSecond: quick ? 50 : 100,
  waitingSeconds: quick ? 1 : 15,
  idleSeconds: quick ? 1 : 5,
});
