import { type Repetition, type RunReport, repeat } from '../lib/repeat.ts';
import type { MetricSnapshot } from '../observability/metric-snapshot.ts';
import type { ParentLink } from './parent-link.ts';

/** How much a worker that is killed takes with it. The counts of a busy one are some 100 kB: a few milliseconds. */
export const HAND_OVER_INTERVAL_MS = 5_000;

/**
 * Gives the parent what this worker has counted, also while there are no scrapes. One hand-over waits until the one
 * before is sent, so that a parent that is frozen does not fill the memory of its workers.
 */
export const startCountsHandOver = (
  parent: Pick<ParentLink, 'handOverCounts'>,
  counts: () => Promise<MetricSnapshot[]>,
  report: RunReport,
): Repetition => repeat(HAND_OVER_INTERVAL_MS, async () => parent.handOverCounts(await counts()), report);
