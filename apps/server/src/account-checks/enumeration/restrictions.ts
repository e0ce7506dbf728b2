/** Patterns of account checks that look like enumeration: a client that collects names instead of making payments. */
export const ENUMERATION_SIGNALS = [
  'accounts_per_day',
  'not_found_ratio',
  'sequential_numbers',
  'clustered_numbers',
] as const;
export type EnumerationSignal = (typeof ENUMERATION_SIGNALS)[number];

/**
 * How the client's checks of new accounts are treated: delayed, or rejected. Accounts checked earlier today are free.
 */
export const RESTRICTION_LEVELS = ['slowed', 'blocked'] as const;
export type RestrictionLevel = (typeof RESTRICTION_LEVELS)[number];

/** A signal that restricts a client, and until when. */
export interface Restriction {
  readonly signal: EnumerationSignal;
  readonly level: RestrictionLevel;
  /**
   * The value that led to the restriction: a ratio from 0 to 1 for `not_found_ratio`, a number of accounts for others.
   */
  readonly figure: number;
  /** ISO 8601 UTC. */
  readonly since: string;
  readonly until: string;
  /** The same time as `until`, on the monotonic clock. */
  readonly untilMs: number;
}

export interface Thresholds {
  readonly slowFrom: number;
  readonly blockFrom: number;
}

/** The restriction that a figure leads to, or null. */
export function levelFor(figure: number, { slowFrom, blockFrom }: Thresholds): RestrictionLevel | null {
  if (figure < slowFrom) return null;
  return figure < blockFrom ? 'slowed' : 'blocked';
}

export interface NewRestriction {
  readonly signal: EnumerationSignal;
  readonly level: RestrictionLevel;
  readonly figure: number;
  readonly durationMs: number;
}

/** The restrictions of one client, at most one for each signal. `nowMs` is on a monotonic clock. */
export interface Restrictions {
  /** Adds or extends a restriction. A blocked client is not set back to slowed before the restriction has ended. */
  impose(restriction: NewRestriction, nowMs: number): void;
  /** Removes the restrictions that have ended or no longer apply. */
  liftEnded(nowMs: number): void;
  has(signal: EnumerationSignal): boolean;
  /** The one that decides: blocked before slowed, then the one that ends last. Null when there is none. */
  strictest(): Restriction | null;
  list(): readonly Restriction[];
}

export interface RestrictionsDependencies {
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  /** Whether the operator's present limits still justify a restriction by this signal. */
  readonly applies: (signal: EnumerationSignal) => boolean;
  readonly onRestricted: (restriction: Restriction) => void;
  readonly onLifted: (restriction: Restriction) => void;
}

export function createRestrictions(dependencies: RestrictionsDependencies): Restrictions {
  const { wallMs, applies, onRestricted, onLifted } = dependencies;
  const bySignal = new Map<EnumerationSignal, Restriction>();

  return {
    impose({ signal, level, figure, durationMs }, nowMs) {
      const before = bySignal.get(signal);
      if (before?.level === 'blocked' && level === 'slowed') return;
      const now = wallMs();
      const restriction: Restriction = {
        signal,
        level,
        figure,
        since: before?.level === level ? before.since : new Date(now).toISOString(),
        until: new Date(now + durationMs).toISOString(),
        untilMs: nowMs + durationMs,
      };
      bySignal.set(signal, restriction);
      if (before?.level !== level) onRestricted(restriction);
    },
    liftEnded(nowMs) {
      for (const restriction of bySignal.values()) {
        if (nowMs < restriction.untilMs && applies(restriction.signal)) continue;
        bySignal.delete(restriction.signal);
        onLifted(restriction);
      }
    },
    has: (signal) => bySignal.has(signal),
    strictest() {
      let strictest: Restriction | null = null;
      for (const restriction of bySignal.values()) {
        const isStricter =
          restriction.level === strictest?.level
            ? restriction.untilMs > strictest.untilMs
            : restriction.level === 'blocked';
        if (strictest === null || isStricter) strictest = restriction;
      }
      return strictest;
    },
    list: () => [...bySignal.values()],
  };
}
