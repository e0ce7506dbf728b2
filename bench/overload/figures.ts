import type { OpenLoopReport } from '../processes/open-loop-clients.ts';

/** What one load did to the service. */
export interface Figures extends OpenLoopReport {
  readonly goodPerSecond: number;
  /** User and system time of the service for each good answer, in microseconds: other load hardly changes it. */
  readonly cpuUsPerGood: number;
  /** The most that the service had, in MiB. */
  readonly residentMib: number;
}

/** A load of a multiple of the capacity, between two measurements of the capacity. */
export interface OverloadRound {
  readonly times: number;
  readonly capacity: readonly [before: Figures, after: Figures];
  readonly overload: Figures;
}

export interface OverloadTarget {
  readonly title: string;
  readonly rounds: OverloadRound[];
}
