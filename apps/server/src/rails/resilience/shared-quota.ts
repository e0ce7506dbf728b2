import { jakartaDayOf, jakartaDayStartMs } from '../../domain/instant.ts';
import type { Limiter } from '../../rate-limit/limiter.ts';
import { type DayCount, type Quota, type QuotaSettings, spareOf } from './quota.ts';

/** A quota that several processes use up together. An inquiry is counted where and when it is sent. */
export interface SharedQuota extends Quota {
  /** Counts an inquiry. False: the quota does not allow it, and it must not be sent. */
  reserve(): Promise<boolean>;
}

/** Counts the inquiries of a day over all processes. */
export interface DayCounter {
  take(key: string, limit: number): Promise<boolean>;
  /** As far as this process knows. */
  total(key: string): number;
  raise(key: string, total: number): void;
  /**
   * Keeps the total of this key up to date, also when this process counts nothing. `key` returns the present key; a
   * later one of the same name takes its place.
   */
  watch(name: string, key: () => string): void;
}

export interface SharedQuotaDependencies {
  /** With windows of `SHARED_SECOND_MS`. */
  readonly second: Limiter;
  readonly day: DayCounter;
  readonly liveProcesses: () => number;
  /** Milliseconds on a clock that never jumps. */
  readonly clock: () => number;
}

/**
 * A second, and the time that a reservation may take to arrive: so the bank receives no more than its quota in any
 * second, although some inquiries are sent a little later than they were counted.
 */
export const SHARED_SECOND_MS = 1_050;
/** Not sent when the reservation came later: the bank would receive too many in that second. */
const RESERVATION_MS_MAX = SHARED_SECOND_MS - 1_000;
/** A process that was busy when its reservation came tries once more. */
const RESERVATIONS_MAX = 2;
/** While Valkey is away, a process that has used up its share of the day asks again so soon: Valkey may be back. */
const SHARE_RETRY_MS = 1_000;

export interface SharedQuotaOptions {
  readonly rail: string;
  readonly wallMs: () => number;
  /**
   * What the database knows: the start of `day`, also when Valkey has lost its data. It has what other machines sent up
   * to a second ago, which `day` has not when the processes of each machine count in their parent.
   */
  readonly dayCount: DayCount;
}

export function createSharedQuota(
  { perSecond, perDay }: QuotaSettings,
  { second, day, liveProcesses, clock }: SharedQuotaDependencies,
  { rail, wallMs, dayCount }: SharedQuotaOptions,
): SharedQuota {
  /** Until then no inquiry may be sent: the quota was used up when one was last refused. */
  let closedUntilMs = Number.NEGATIVE_INFINITY;
  let leftInSecond = perSecond ?? 0;
  let leftInSecondUntilMs = Number.NEGATIVE_INFINITY;
  const today = (): string => `${rail} ${jakartaDayOf(wallMs())}`;
  if (perDay !== null) {
    day.raise(today(), dayCount.total(jakartaDayOf(wallMs())));
    day.watch(rail, today);
  }

  const sentToday = (): number => Math.max(day.total(today()), dayCount.total(jakartaDayOf(wallMs())));
  const isDayUsedUp = (): boolean => perDay !== null && sentToday() >= perDay;

  async function takeSecond(): Promise<boolean> {
    if (perSecond === null) return true;
    const { admitted, remaining, resetMs } = await second.take(rail, perSecond);
    const nowMs = clock();
    leftInSecond = remaining;
    leftInSecondUntilMs = nowMs + resetMs;
    if (!admitted) closedUntilMs = Math.max(closedUntilMs, nowMs + resetMs);
    return admitted;
  }

  async function takeDay(): Promise<boolean> {
    if (perDay === null) return true;
    if (!isDayUsedUp() && (await day.take(today(), perDay))) {
      dayCount.add(jakartaDayOf(wallMs()));
      return true;
    }
    // When the whole day is used up, `waitMs` sees it.
    closedUntilMs = Math.max(closedUntilMs, clock() + SHARE_RETRY_MS);
    return false;
  }

  const left: Quota['left'] = (nowMs) => ({
    second: perSecond === null ? null : nowMs < leftInSecondUntilMs ? leftInSecond : perSecond,
    day: perDay === null ? null : Math.max(perDay - sentToday(), 0),
  });

  return {
    async reserve() {
      let isDayTaken = false;
      for (let tried = 0; tried < RESERVATIONS_MAX; tried += 1) {
        const startedMs = clock();
        // The second first: an inquiry that it refuses is not sent, and must not use up the day.
        if (!(await takeSecond())) return false;
        isDayTaken ||= await takeDay();
        if (!isDayTaken) return false;
        if (clock() - startedMs <= RESERVATION_MS_MAX) return true;
      }
      return false;
    },
    waitMs: (nowMs) => (isDayUsedUp() ? msUntilTomorrow(wallMs()) : Math.max(closedUntilMs - nowMs, 0)),
    // Counted by `reserve`.
    take() {},
    left,
    sentMs: () => [],
    spareCapacity(nowMs) {
      const now = left(nowMs);
      const spare = Math.min(spareOf(now.second, perSecond, 'second'), spareOf(now.day, perDay, 'day'));
      // The other processes see the same remainder.
      return Math.max(Math.ceil(spare / liveProcesses()), 0);
    },
  };
}

/** In Jakarta. */
const msUntilTomorrow = (wallMs: number): number => jakartaDayStartMs(jakartaDayOf(wallMs) + 1) - wallMs;
