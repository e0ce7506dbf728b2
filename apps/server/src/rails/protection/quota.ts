import { JAKARTA_OFFSET_MS } from '../../domain/instant.ts';

/** What the operator's contract with the bank allows; null for no such limit. */
export interface QuotaSettings {
  readonly perSecond: number | null;
  readonly perDay: number | null;
}

/**
 * How many questions the contract still allows. It is kept in this process: several processes on one contract divide it
 * among them by their settings, and one that is started again begins the day anew.
 */
export interface Quota {
  /** How long until a question may go out; 0 when one may now. */
  waitMs(nowMs: number): number;
  /** A question goes out, which `waitMs` allows. */
  take(nowMs: number): void;
  left(nowMs: number): { readonly second: number | null; readonly day: number | null };
}

const SECOND_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;

/** `nowMs` is of a clock that never jumps; `wallMs`, ms since 1970, tells the day. */
export function createQuota({ perSecond, perDay }: QuotaSettings, wallMs: () => number): Quota {
  // The times of the last `perSecond` questions: the only exact window. Counters per second let twice as many pass.
  const times = new Float64Array(perSecond ?? 0).fill(Number.NEGATIVE_INFINITY);
  let next = 0;
  let day = 0;
  let askedToday = 0;

  const secondWaitMs = (nowMs: number): number =>
    perSecond === null ? 0 : Math.max((times[next] ?? 0) + SECOND_MS - nowMs, 0);

  /**
   * Contracts count days as their bank does, in Jakarta. A clock that is set back over midnight does not give the day's
   * quota again.
   */
  function moveDay(): void {
    const today = Math.floor((wallMs() + JAKARTA_OFFSET_MS) / DAY_MS);
    if (today <= day) return;
    day = today;
    askedToday = 0;
  }

  function dayWaitMs(): number {
    if (perDay === null) return 0;
    moveDay();
    return askedToday < perDay ? 0 : (day + 1) * DAY_MS - JAKARTA_OFFSET_MS - wallMs();
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
    left(nowMs) {
      if (perDay !== null) moveDay();
      return {
        second: perSecond === null ? null : times.reduce((sum, at) => (at + SECOND_MS <= nowMs ? sum + 1 : sum), 0),
        day: perDay === null ? null : perDay - askedToday,
      };
    },
  };
}
