/** What tells that a client may be collecting accounts. Each has a file of its own. */
export const SIGNS = ['accounts_per_day', 'not_found', 'neighbours'] as const;
export type Sign = (typeof SIGNS)[number];

/** What it does to the client's questions about accounts that it has not asked about today. */
export type Hold = 'slowed' | 'refused';

/** A sign that holds a client, and until when. */
export interface Trip {
  readonly sign: Sign;
  readonly hold: Hold;
  /** What was counted when it tripped: accounts, a share from 0 to 1, or neighbours. */
  readonly figure: number;
  /** ISO 8601 UTC. */
  readonly since: string;
  readonly until: string;
  /** The same on the clock that never jumps. */
  readonly untilMs: number;
}

/** The hold that a figure means; null when it means none. */
export function holdOf(
  figure: number,
  { slowFrom, refuseFrom }: { slowFrom: number; refuseFrom: number },
): Hold | null {
  if (figure < slowFrom) return null;
  return figure < refuseFrom ? 'slowed' : 'refused';
}
