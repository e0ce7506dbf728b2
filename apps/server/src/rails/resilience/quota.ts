import { jakartaDayOf, jakartaDayStartMs } from '../../domain/instant.ts';

/** What the operator's contract with the bank allows; null for no such limit. */
export interface QuotaSettings {
  readonly perSecond: number | null;
  readonly perDay: number | null;
}

/**
 * How many questions the contract still allows. It is kept in this process: several processes on one contract divide it
 * among them by their settings.
 */
export interface Quota {
  /** How long until a question may go out; 0 when one may now. */
  waitMs(nowMs: number): number;
  /** A question goes out, which `waitMs` allows. */
  take(nowMs: number): void;
  left(nowMs: number): { readonly second: number | null; readonly day: number | null };
  /** How many questions may go out now that can wait: some of the quota is left to those that cannot. */
  spareCapacity(nowMs: number): number;
}

/**
 * The part of a quota, one in so many, that is left to questions that cannot wait; of a small one, one at least. What is
 * left of a day is all that they have until tomorrow; of a second, the next is there as soon as one was taken.
 */
const KEPT_OF_DAY = 40;
const KEPT_OF_SECOND = 100;
const SMALL_QUOTA = 20;

const SECOND_MS = 1_000;

/**
 * `nowMs` is of a clock that never jumps; `wallMs`, ms since 1970, tells the day. `askedBefore`: what went out today
 * before this process began.
 */
export function createQuota({ perSecond, perDay }: QuotaSettings, wallMs: () => number, askedBefore = 0): Quota {
  // The times of the last `perSecond` questions: the only exact window. Counters per second let twice as many pass.
  const times = new Float64Array(perSecond ?? 0).fill(Number.NEGATIVE_INFINITY);
  let next = 0;
  let day = jakartaDayOf(wallMs());
  let askedToday = askedBefore;

  const secondWaitMs = (nowMs: number): number =>
    perSecond === null ? 0 : Math.max((times[next] ?? 0) + SECOND_MS - nowMs, 0);

  /**
   * Contracts count days as their bank does, in Jakarta. A clock that is set back over midnight does not give the day's
   * quota again.
   */
  function moveDay(): void {
    const today = jakartaDayOf(wallMs());
    if (today <= day) return;
    day = today;
    askedToday = 0;
  }

  function dayWaitMs(): number {
    if (perDay === null) return 0;
    moveDay();
    return askedToday < perDay ? 0 : jakartaDayStartMs(day + 1) - wallMs();
  }

  function left(nowMs: number): { second: number | null; day: number | null } {
    if (perDay !== null) moveDay();
    return {
      second: perSecond === null ? null : times.reduce((sum, at) => (at + SECOND_MS <= nowMs ? sum + 1 : sum), 0),
      day: perDay === null ? null : perDay - askedToday,
    };
  }

  return {
    waitMs: (nowMs) => Math.max(secondWaitMs(nowMs), dayWaitMs()),
    take(nowMs) {
      if (perDay !== null) {
        moveDay();
        askedToday += 1;
      }
      if (perSecond === null) return;
      times[next] = nowMs;
      next = (next + 1) % perSecond;
    },
    left,
    spareCapacity(nowMs) {
      const { second, day } = left(nowMs);
      return Math.max(Math.min(toSpare(second, perSecond, KEPT_OF_SECOND), toSpare(day, perDay, KEPT_OF_DAY)), 0);
    },
  };
}

const toSpare = (left: number | null, quota: number | null, keptOneIn: number): number =>
  left === null || quota === null
    ? Number.POSITIVE_INFINITY
    : left - Math.max(Math.floor(quota / keptOneIn), quota >= SMALL_QUOTA ? 1 : 0);
