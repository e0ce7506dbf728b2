import type { NextStatusInquiry } from '../postgres/status-inquiries.ts';
import type { ClaimedStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { StatusInquiryOutcome } from '../rails/rail.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The delays between an answer and the next inquiry. Most transfers take seconds, some take half an hour
 * (docs/contract.md 3.1): these steps make twelve inquiries in that time, and none is more than five minutes late.
 */
const STEPS_MS = [
  ...[10, 20, 40, 60].map((seconds) => seconds * SECOND_MS),
  ...[2, 3, 5, 5, 5, 5, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 4].map((hours) => hours * HOUR_MS),
];
/** Repeated without end: there is money behind every transfer. */
const LAST_STEP_MS = 6 * HOUR_MS;

/** A failed inquiry is repeated after this fraction of the transfer's age, if its step of the schedule is shorter. */
const RETRY_FRACTION_OF_AGE = 1 / 20;

/**
 * The lease of a claimed inquiry, during which no other process may inquire. Longer than an inquiry (4 s) and the
 * storing of its answer together, or two processes would inquire at once; no longer than a transaction may wait when
 * the process that holds the claim was killed.
 */
export const LEASE_MS = 15_000;

/**
 * The cause of an inquiry. Inquiries for readers use up no steps of the schedule; otherwise many readers would soon
 * leave the transaction without a scheduled inquiry for hours.
 */
export type InquiryTrigger = 'schedule' | 'reader';

export interface CompletedInquiry {
  readonly claimed: ClaimedStatusInquiry;
  readonly trigger: InquiryTrigger;
  readonly outcome: StatusInquiryOutcome;
  /** The end of the inquiry, on PostgreSQL's clock. */
  readonly at: Date;
}

/** The next inquiry after an outcome that leaves the transaction in PROCESS. */
export function nextInquiry(
  { claimed, trigger, outcome, at }: CompletedInquiry,
  unknownGraceMs: number,
): NextStatusInquiry {
  const { attempts, unknownSince, reviewSince, createdAt } = claimed;
  const stepMs = STEPS_MS[attempts] ?? LAST_STEP_MS;
  const after = (ms: number): string => new Date(at.getTime() + ms).toISOString();

  if (outcome.kind === 'no_status') {
    const retryMs = Math.min((at.getTime() - Date.parse(createdAt)) * RETRY_FRACTION_OF_AGE, LAST_STEP_MS);
    const waitMs = reviewSince === null ? Math.max(stepMs, retryMs) : LAST_STEP_MS;
    return { nextAt: after(waitMs), attempts, unknownSince, reviewSince };
  }
  const steps = trigger === 'schedule' ? attempts + 1 : attempts;
  if (outcome.kind === 'status') {
    return { nextAt: after(stepMs), attempts: steps, unknownSince: null, reviewSince: null };
  }

  const since = unknownSince ?? at.toISOString();
  const graceLeftMs = Date.parse(since) + unknownGraceMs - at.getTime();
  return graceLeftMs > 0
    ? { nextAt: after(Math.min(stepMs, graceLeftMs)), attempts: steps, unknownSince: since, reviewSince: null }
    : {
        nextAt: after(LAST_STEP_MS),
        attempts: steps,
        unknownSince: since,
        reviewSince: reviewSince ?? at.toISOString(),
      };
}

/** The next inquiry after a claim that made none: as it was before the claim. */
export const unchangedInquiry = ({
  dueAt,
  attempts,
  unknownSince,
  reviewSince,
}: ClaimedStatusInquiry): NextStatusInquiry => ({
  nextAt: dueAt,
  attempts,
  unknownSince,
  reviewSince,
});
