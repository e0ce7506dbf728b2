import type { InquiryTrigger } from './schedule.ts';

/** Limits how many status inquiries this process has in flight at one bank. */
export interface AdaptiveConcurrency {
  /** Acquires slots for inquiries that may start now, `wanted` at most. Returns how many. */
  acquire(wanted: number, trigger: InquiryTrigger, nowMs: number): number;
  /** Releases acquired slots that are not needed. */
  release(slots: number): void;
  /** Starts an inquiry in an acquired slot. Call the returned function once, when the inquiry has ended. */
  start(): (evidence: BankEvidence, nowMs: number) => void;
}

/** What the end of an inquiry says about the bank. `none` changes neither the limit nor the pause. */
export type BankEvidence = 'answered' | 'failed' | 'none';

/** The limit for a bank that answers. */
export const CONCURRENCY_MAX = 32;
/** The fraction of the slots that the schedule leaves to readers: a long backlog would take all of them. */
const READER_SHARE = 1 / 4;
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 60_000;
/** This pause is reached by failures in a row only. */
const FAILING_PAUSE_MS = 4_000;

/**
 * A failing bank gets fewer inquiries, not more: a failure halves the limit and doubles the pause before the next
 * inquiry; an answer raises the limit by one and halves the pause. Inquiries that were in flight together and fail
 * together count as one failure: all of them started before any failure was known.
 *
 * `onFailing` is called with true when the bank begins to fail, and with false at its first answer after that. A bank
 * that fails and answers by turns is said to fail again only after failures in a row.
 */
export function createAdaptiveConcurrency(onFailing: (isFailing: boolean) => void): AdaptiveConcurrency {
  let limit = CONCURRENCY_MAX;
  let acquired = 0;
  let pauseMs = 0;
  let resumeAtMs = Number.NEGATIVE_INFINITY;
  let reductions = 0;
  let isFailing = false;

  function setFailing(value: boolean): void {
    if (value !== isFailing) onFailing(value);
    isFailing = value;
  }

  function increase(nowMs: number): void {
    setFailing(false);
    if (limit === CONCURRENCY_MAX && pauseMs === 0) return;
    limit = Math.min(limit + 1, CONCURRENCY_MAX);
    pauseMs = pauseMs / 2 < PAUSE_MIN_MS ? 0 : pauseMs / 2;
    resumeAtMs = nowMs + pauseMs;
  }

  function reduce(reductionsAtStart: number, nowMs: number): void {
    if (reductionsAtStart === reductions) {
      if (limit === CONCURRENCY_MAX || pauseMs >= FAILING_PAUSE_MS) setFailing(true);
      reductions += 1;
      limit = Math.max(Math.floor(limit / 2), 1);
      pauseMs = Math.min(Math.max(pauseMs * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
    }
    resumeAtMs = nowMs + pauseMs;
  }

  return {
    acquire(wanted, trigger, nowMs) {
      if (nowMs < resumeAtMs) return 0;
      const reserved = trigger === 'schedule' ? Math.floor(limit * READER_SHARE) : 0;
      const granted = Math.max(Math.min(wanted, limit - reserved - acquired), 0);
      acquired += granted;
      return granted;
    },
    release(slots) {
      acquired -= slots;
    },
    start() {
      const reductionsAtStart = reductions;
      return (evidence, nowMs) => {
        acquired -= 1;
        if (evidence === 'answered') increase(nowMs);
        else if (evidence === 'failed') reduce(reductionsAtStart, nowMs);
      };
    },
  };
}
