import { createNotFoundRatio, NOT_FOUND_THRESHOLDS } from './not-found-ratio.ts';
import { type EnumerationSignal, levelFor, type Restrictions, type Thresholds } from './restrictions.ts';
import {
  CLUSTERED_NUMBERS_THRESHOLDS,
  createSequentialNumbers,
  SEQUENTIAL_NUMBERS_THRESHOLDS,
} from './sequential-numbers.ts';
import type { ValidationSignal } from './validation-signal.ts';

/** The signals of one client that is not trusted. They restrict it. `nowMs` is on a monotonic clock. */
export interface EnumerationSignals {
  /** Records a check of an account, by the tag of its block, that the client has not checked today. */
  recordCheck(block: number, nowMs: number): void;
  /** Records the first verdict about an account. */
  recordVerdict(isNotFound: boolean, nowMs: number): void;
  /** Blocks the client, which could not check all accounts of a validation. Returns for how long, in ms. */
  blockForValidation(signal: ValidationSignal, nowMs: number): number;
  /** Starts to count the clusters of a new day. */
  startDay(): void;
}

/** How long a restriction lasts after its signal was last seen. */
const RESTRICTION_MS = 30 * 60_000;

type EvaluatedSignal = Exclude<EnumerationSignal, 'accounts_per_day'>;

const THRESHOLDS: Readonly<Record<EvaluatedSignal, Thresholds>> = {
  not_found_ratio: NOT_FOUND_THRESHOLDS,
  sequential_numbers: SEQUENTIAL_NUMBERS_THRESHOLDS,
  clustered_numbers: CLUSTERED_NUMBERS_THRESHOLDS,
};

export function createEnumerationSignals(restrictions: Pick<Restrictions, 'impose' | 'liftEnded'>): EnumerationSignals {
  const sequentialNumbers = createSequentialNumbers();
  const notFoundRatio = createNotFoundRatio();

  /** Restricts the client when the figure demands it. A legitimate client's figure is usually 0. */
  function evaluate(signal: EvaluatedSignal, figure: number, nowMs: number): void {
    if (figure === 0) return;
    const level = levelFor(figure, THRESHOLDS[signal]);
    if (level === null) return;
    restrictions.liftEnded(nowMs);
    restrictions.impose({ signal, level, figure, durationMs: RESTRICTION_MS }, nowMs);
    if (level === 'blocked') reset(signal);
  }

  /** After a block a signal counts from zero; the clusters count until the end of the day. */
  function reset(signal: EvaluatedSignal): void {
    if (signal === 'not_found_ratio') notFoundRatio.reset();
    else if (signal === 'sequential_numbers') sequentialNumbers.resetRuns();
  }

  return {
    recordCheck(block, nowMs) {
      sequentialNumbers.recordBlock(block, nowMs);
      evaluate('sequential_numbers', sequentialNumbers.inRuns(), nowMs);
      evaluate('clustered_numbers', sequentialNumbers.inClusters(), nowMs);
    },
    recordVerdict(isNotFound, nowMs) {
      evaluate('not_found_ratio', notFoundRatio.recordVerdict(isNotFound, nowMs), nowMs);
    },
    blockForValidation({ signal, figure }, nowMs) {
      restrictions.liftEnded(nowMs);
      restrictions.impose({ signal, level: 'blocked', figure, durationMs: RESTRICTION_MS }, nowMs);
      return RESTRICTION_MS;
    },
    startDay: sequentialNumbers.startDay,
  };
}
