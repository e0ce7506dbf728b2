/** What tells that a client may be collecting accounts. Each has a file of its own. */
export const SIGNALS = ['accounts_per_day', 'not_found_ratio', 'sequential_numbers'] as const;
export type Signal = (typeof SIGNALS)[number];

/** What it does to the client's questions about accounts that it has not asked about today. */
export type RestrictionLevel = 'slowed' | 'blocked';

/** A sign that holds a client, and until when. */
export interface Restriction {
  readonly signal: Signal;
  readonly level: RestrictionLevel;
  /** What was counted when it tripped: accounts, a share from 0 to 1, or neighbours. */
  readonly figure: number;
  /** ISO 8601 UTC. */
  readonly since: string;
  readonly until: string;
  /** The same on the clock that never jumps. */
  readonly untilMs: number;
}

/** The hold that a figure means; null when it means none. */
export function levelOf(
  figure: number,
  { slowFrom, refuseFrom }: { slowFrom: number; refuseFrom: number },
): RestrictionLevel | null {
  if (figure < slowFrom) return null;
  return figure < refuseFrom ? 'slowed' : 'blocked';
}
