import { jakartaDayOf, jakartaDayStartMs } from '../../domain/instant.ts';

/** The inquiries that the operator's contract with the bank allows; null for no limit. */
export interface QuotaSettings {
  readonly perSecond: number | null;
  readonly perDay: number | null;
}

/** The inquiries over one rail, by all processes. Days are counted since 1970, in Jakarta. */
export interface DayCount {
  /** As far as this process knows. */
  total(day: number): number;
  /** Whether this process may send one more: its share of what all had left a moment ago is not used up. */
  mayTake(day: number, perDay: number): boolean;
  add(day: number): void;
}

/** Of this process alone. */
export function createDayCount(): DayCount {
  let counted = 0;
  let sent = 0;
  return {
    total: (day) => (day === counted ? sent : 0),
    mayTake: (day, perDay) => day !== counted || sent < perDay,
    add(day) {
      sent = day === counted ? sent + 1 : 1;
      counted = day;
    },
  };
}

/**
 * Counts the inquiries that the contract still allows. A second's count of `createQuota` is kept in this process;
 * several processes share one with `createSharedQuota`.
 */
export interface Quota {
  /** How long until an inquiry may be sent; 0 when one may be sent now. */
  waitMs(nowMs: number): number;
  /** Counts an inquiry that is sent. Call only when `waitMs` is 0. */
  take(nowMs: number): void;
  left(nowMs: number): { readonly second: number | null; readonly day: number | null };
  /** When the last inquiries of a second's quota were sent, for the quota that replaces it. None if shared. */
  sentMs(): readonly number[];
  /** How many inquiries that can wait may be sent now. Part of the quota is reserved for those that cannot. */
  spareCapacity(nowMs: number): number;
}

/**
 * The part of a quota that is reserved for inquiries that cannot wait: a fortieth of a day's, a hundredth of a
 * second's, and at least one inquiry of a quota of `SMALL_QUOTA` or more. A day's remainder must last until tomorrow; a
 * second's is available again as soon as it was taken.
 */
const RESERVE_ONE_IN = { day: 40, second: 100 } as const;
const SMALL_QUOTA = 20;

const SECOND_MS = 1_000;

/** A process that has used up its share of the day learns within this time what is left of it. */
const SHARE_RETRY_MS = 1_000;

/**
 * `nowMs` comes from a clock that never jumps. `wallMs`, milliseconds since 1970, determines the day. `sentMs`: of the
 * quota that this one replaces.
 */
export function createQuota(
  { perSecond, perDay }: QuotaSettings,
  wallMs: () => number,
  dayCount: DayCount = createDayCount(),
  sentMs: readonly number[] = [],
): Quota {
  // The times of the last `perSecond` inquiries are the only exact window. Counters per second let twice as many pass.
  const times = new Float64Array(perSecond ?? 0).fill(Number.NEGATIVE_INFINITY);
  let next = 0;
  for (const at of sentMs.toSorted((one, other) => one - other)) count(at);
  let day = jakartaDayOf(wallMs());

  function count(atMs: number): void {
    if (perSecond === null) return;
    times[next] = atMs;
    next = (next + 1) % perSecond;
  }

  const secondWaitMs = (nowMs: number): number =>
    perSecond === null ? 0 : Math.max((times[next] ?? 0) + SECOND_MS - nowMs, 0);

  /**
   * Contracts count days as the banks do, in Jakarta. A clock that is set back over midnight does not grant the day's
   * quota a second time.
   */
  function updateDay(): void {
    day = Math.max(jakartaDayOf(wallMs()), day);
  }

  function dayWaitMs(): number {
    if (perDay === null) return 0;
    updateDay();
    if (dayCount.total(day) >= perDay) return jakartaDayStartMs(day + 1) - wallMs();
    return dayCount.mayTake(day, perDay) ? 0 : SHARE_RETRY_MS;
  }

  function left(nowMs: number): { second: number | null; day: number | null } {
    if (perDay !== null) updateDay();
    return {
      second: perSecond === null ? null : times.reduce((sum, at) => (at + SECOND_MS <= nowMs ? sum + 1 : sum), 0),
      day: perDay === null ? null : Math.max(perDay - dayCount.total(day), 0),
    };
  }

  return {
    waitMs: (nowMs) => Math.max(secondWaitMs(nowMs), dayWaitMs()),
    take(nowMs) {
      if (perDay !== null) {
        updateDay();
        dayCount.add(day);
      }
      count(nowMs);
    },
    left,
    sentMs: () => [...times].filter(Number.isFinite),
    spareCapacity(nowMs) {
      const { second, day } = left(nowMs);
      return Math.max(Math.min(spareOf(second, perSecond, 'second'), spareOf(day, perDay, 'day')), 0);
    },
  };
}

/** What inquiries that can wait may use of the rest of a quota. */
export const spareOf = (left: number | null, quota: number | null, period: keyof typeof RESERVE_ONE_IN): number =>
  left === null || quota === null
    ? Number.POSITIVE_INFINITY
    : left - Math.max(Math.floor(quota / RESERVE_ONE_IN[period]), quota >= SMALL_QUOTA ? 1 : 0);
