import type { InquiryTrigger } from './schedule.ts';

/** How many questions about transfers one bank is asked at a time, by this process. */
export interface AdaptiveConcurrency {
  /** Takes places for as many questions as may begin now, `wanted` at the most. */
  take(wanted: number, occasion: InquiryTrigger, nowMs: number): number;
  /** Places that were taken and are not needed. */
  giveBack(places: number): void;
  /** A question begins, in a place that was taken. What is returned is called when it has ended, once. */
  begin(): (answered: boolean, nowMs: number) => void;
}

/** How many questions may be under way at a bank that answers. */
export const PLACES_MAX = 32;
/** Or a long backlog would leave them unanswered. */
const KEPT_FOR_READERS = 1 / 4;
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 60_000;

/**
 * A bank in trouble is asked less, not more: a failed question halves the places and doubles the pause before the next
 * one, an answer gives one place back and halves the pause. Questions that went out together and fail together are one
 * failure: they were all asked before anything was known of the trouble.
 */
export function createAdaptiveConcurrency(onChange: (troubled: boolean) => void): AdaptiveConcurrency {
  let places = PLACES_MAX;
  let taken = 0;
  let pauseMs = 0;
  let resumeAtMs = Number.NEGATIVE_INFINITY;
  let slowedTimes = 0;

  function speedUp(nowMs: number): void {
    if (places === PLACES_MAX && pauseMs === 0) return;
    places = Math.min(places + 1, PLACES_MAX);
    pauseMs = pauseMs / 2 < PAUSE_MIN_MS ? 0 : pauseMs / 2;
    resumeAtMs = nowMs + pauseMs;
    if (places === PLACES_MAX && pauseMs === 0) onChange(false);
  }

  function slowDown(slowedBefore: number, nowMs: number): void {
    if (slowedBefore === slowedTimes) {
      if (places === PLACES_MAX) onChange(true);
      slowedTimes += 1;
      places = Math.max(Math.floor(places / 2), 1);
      pauseMs = Math.min(Math.max(pauseMs * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
    }
    resumeAtMs = nowMs + pauseMs;
  }

  return {
    take(wanted, occasion, nowMs) {
      if (nowMs < resumeAtMs) return 0;
      const kept = occasion === 'schedule' ? Math.floor(places * KEPT_FOR_READERS) : 0;
      const given = Math.max(Math.min(wanted, places - kept - taken), 0);
      taken += given;
      return given;
    },
    giveBack(count) {
      taken -= count;
    },
    begin() {
      const slowedBefore = slowedTimes;
      return (answered, nowMs) => {
        taken -= 1;
        if (answered) speedUp(nowMs);
        else slowDown(slowedBefore, nowMs);
      };
    },
  };
}
