import type { AppliedUpdate } from '../transactions/decide.ts';

/** The result of a feed. Lines are counted from 1. */
export interface FeedReport {
  inserted: number;
  advanced: number;
  unchanged: number;
  /** Status updates that contradict the stored transaction. They were recorded but not applied. */
  readonly conflicts: { line: number; transaction_id: string; reason: string }[];
  /** Lines that could not be read, or that lack what the first status update of a transaction needs. */
  readonly rejected: { line: number; reason: string }[];
  /** Status updates that were applied, but for fields of which the transaction keeps another value. */
  readonly differences: { line: number; transaction_id: string; reason: string }[];
  /** The number of conflicts, rejected lines and differences beyond those listed. */
  unlisted: number;
}

/** How far a feed is. Lines that are read and not counted yet are in the batch that is being stored. */
export interface FeedProgress {
  readonly linesRead: number;
  readonly inserted: number;
  readonly advanced: number;
  readonly unchanged: number;
  readonly conflicts: number;
  readonly rejected: number;
}

/** Bounds the memory of a report on a feed in which every line is wrong. */
const LISTED_MAX = 10_000;

export const emptyReport = (): FeedReport => ({
  inserted: 0,
  advanced: 0,
  unchanged: 0,
  conflicts: [],
  rejected: [],
  differences: [],
  unlisted: 0,
});

export function list<T>(report: FeedReport, entries: T[], entry: T): void {
  const { conflicts, rejected, differences } = report;
  if (conflicts.length + rejected.length + differences.length < LISTED_MAX) entries.push(entry);
  else report.unlisted += 1;
}

/** A reversal counts as advanced, though the status stays. The feed itself never marks a transaction overdue. */
const COUNTED_AS = {
  inserted: 'inserted',
  advanced: 'advanced',
  reversed: 'advanced',
  overdue: 'unchanged',
  unchanged: 'unchanged',
} as const;

export function count(report: FeedReport, { line, transactionId, outcome, reason }: AppliedUpdate): void {
  if (outcome === 'conflict') {
    list(report, report.conflicts, { line, transaction_id: transactionId, reason: reason ?? '' });
  } else if (outcome === 'rejected') list(report, report.rejected, { line, reason: reason ?? '' });
  else {
    report[COUNTED_AS[outcome]] += 1;
    if (reason !== null) list(report, report.differences, { line, transaction_id: transactionId, reason });
  }
}

export function sortLists({ conflicts, rejected, differences }: FeedReport): void {
  for (const listed of [conflicts, rejected, differences]) listed.sort((one, other) => one.line - other.line);
}

export const progressOf = (
  { inserted, advanced, unchanged }: FeedReport,
  totals: Pick<FeedProgress, 'linesRead' | 'conflicts' | 'rejected'>,
): FeedProgress => ({ inserted, advanced, unchanged, ...totals });
