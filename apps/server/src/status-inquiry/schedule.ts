import type { NextStatusInquiry } from '../postgres/status-inquiries.ts';
import type { ClaimedStatusInquiry } from '../postgres/status-inquiry-claims.ts';
import type { StatusInquiryOutcome } from '../rails/rail.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * What lies between an answer and the next question. Most transfers take seconds, some take half an hour (service
 * document 3.1): until then there are twelve questions, and none comes more than five minutes late.
 */
const STEPS_MS = [
  ...[10, 20, 40, 60].map((seconds) => seconds * SECOND_MS),
  ...[2, 3, 5, 5, 5, 5, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 4].map((hours) => hours * HOUR_MS),
];
/** It never stops: somewhere behind it is money. */
const LAST_STEP_MS = 6 * HOUR_MS;

/** A question that keeps failing is asked again after this part of the transfer's age, if its step is shorter. */
const PART_OF_AGE = 1 / 20;

/** How a question came about. Those of readers use up no steps, or many readers would soon leave it unasked for hours. */
export type InquiryTrigger = 'schedule' | 'reader';

export interface CompletedInquiry {
  readonly claimed: ClaimedStatusInquiry;
  readonly trigger: InquiryTrigger;
  readonly outcome: StatusInquiryOutcome;
  readonly at: Date;
}

/** What follows from an answer that leaves the transaction in PROCESS. */
export function nextInquiry(
  { claimed, trigger, outcome, at }: CompletedInquiry,
  unknownGraceMs: number,
): NextStatusInquiry {
  const { attempts, unknownSince, reviewSince, createdAt } = claimed;
  const stepMs = STEPS_MS[attempts] ?? LAST_STEP_MS;
  const after = (ms: number): string => new Date(at.getTime() + ms).toISOString();

  if (outcome.kind === 'no_status') {
    const ageMs = Math.min((at.getTime() - Date.parse(createdAt)) * PART_OF_AGE, LAST_STEP_MS);
    const waitMs = reviewSince === null ? Math.max(stepMs, ageMs) : LAST_STEP_MS;
    return { nextAt: after(waitMs), attempts, unknownSince, reviewSince };
  }
  const steps = trigger === 'schedule' ? attempts + 1 : attempts;
  if (outcome.kind === 'status')
    return { nextAt: after(stepMs), attempts: steps, unknownSince: null, reviewSince: null };

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

/** What follows from not asking after all: as if nobody had wanted to. */
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
