import type { InquiryOutcome } from '../rail.ts';

/** With less time left, asking yet another rail would only be a burden to it. */
export const ATTEMPT_MIN_MS = 500;

/** What a rail may take, so that each of the others that can still be asked has as much. */
export const shareOf = (leftMs: number, railsLeft: number): number =>
  railsLeft === 1 ? leftMs : Math.max(leftMs / railsLeft, Math.min(ATTEMPT_MIN_MS, leftMs));

/** Whether the same question may have an answer a moment later. An inquiry changes nothing, so it may be put again. */
export const isRepeatable = (outcome: InquiryOutcome): boolean =>
  outcome.kind === 'no_verdict' &&
  (outcome.reason === 'timeout' || outcome.reason === 'unreachable' || outcome.reason === 'bank_unavailable');

const RETRY_DELAY_MIN_MS = 20;
const RETRY_DELAY_MAX_MS = 200;

/** Spread, so that what failed together does not come again together. `random` is from 0 up to 1. */
export const retryDelayMs = (random: number): number =>
  RETRY_DELAY_MIN_MS + random * (RETRY_DELAY_MAX_MS - RETRY_DELAY_MIN_MS);
