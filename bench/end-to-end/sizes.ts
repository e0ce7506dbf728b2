import type { Options } from '../options.ts';

/** The sizes of an end-to-end run. */
export interface Sizes {
  /** Transactions that each service's database holds from the start. */
  readonly existing: number;
  readonly rounds: number;
  readonly roundSeconds: number;
  /** While callbacks are measured. */
  readonly changesPerSecond: number;
  /** Callbacks that are due at the beginning of each backlog round. */
  readonly backlog: number;
  readonly backlogRounds: number;
  /** Of backlog rounds, and of the baseline's rounds. */
  readonly shortSeconds: number;
  /** Of measurements that are made once. */
  readonly warmUpSeconds: number;
  readonly durableSeconds: number;
  /** Clients that long-poll at the same time. */
  readonly longPolls: number;
  readonly longPollChangesPerSecond: number;
  readonly longPollSeconds: number;
  /** How long CPU time is measured while nothing changes. */
  readonly idleSeconds: number;
}

export const sizesOf = ({ quick, rounds, roundSeconds }: Options): Sizes => ({
  existing: quick ? 10_000 : 50_000,
  rounds,
  roundSeconds: Math.max(1, roundSeconds),
  changesPerSecond: quick ? 50 : 200,
  backlog: quick ? 1_000 : 20_000,
  backlogRounds: Math.min(rounds, 3),
  shortSeconds: Math.max(1, Math.floor(roundSeconds / 2)),
  warmUpSeconds: quick ? 1 : 3,
  durableSeconds: quick ? 1 : 5,
  longPolls: quick ? 200 : 5_000,
  longPollChangesPerSecond: quick ? 50 : 100,
  longPollSeconds: quick ? 1 : 15,
  idleSeconds: quick ? 1 : 5,
});
