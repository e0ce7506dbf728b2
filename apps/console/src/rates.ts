/** Rates and quantiles between two readings of counters that only grow. Pure. */

/** As the overview of the operator API has it: by route, rail or kind of event. */
export interface Counts {
  readonly subject: string;
  readonly outcomes: readonly { readonly outcome: string; readonly count: number }[];
  /** Cumulative: how many took no longer than `up_to_ms`; null stands for no bound. */
  readonly durations: readonly { readonly up_to_ms: number | null; readonly count: number }[];
}

export interface Rate {
  readonly subject: string;
  readonly perSecond: number;
  /** The share of outcomes that `isFailure` names, from 0 to 1; 0 where there were none. */
  readonly failureShare: number;
  /** Null where nothing was counted. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

/**
 * Whether an inquiry at a bank got no answer. Verdicts and statuses are in capitals, reasons for having none are not. A
 * bank that does not know a transfer, or rejects an inquiry, has answered.
 */
export const isNoAnswer = (outcome: string): boolean =>
  /^[a-z]/.test(outcome) && outcome !== 'unknown_transfer' && outcome !== 'rejected_by_bank';

/** What is called at all in any of the samples, the most frequent of the latest one first. */
export function calledIn(samples: readonly (readonly Rate[])[]): readonly Rate[] {
  const called = new Set(samples.flatMap((rates) => rates.filter((each) => each.perSecond > 0)).map(subjectOf));
  const latest = samples.at(-1) ?? [];
  return latest.filter((each) => called.has(each.subject)).toSorted((one, other) => other.perSecond - one.perSecond);
}

const subjectOf = ({ subject }: Rate): string => subject;

/** Null when the counters began again between the two readings: a process has restarted. */
export function ratesBetween(
  before: readonly Counts[],
  after: readonly Counts[],
  seconds: number,
  isFailure: (outcome: string) => boolean,
): Rate[] | null {
  const earlier = new Map(before.map((each) => [each.subject, each]));
  const rates = after.map((each) => rateOf(earlier.get(each.subject), each, seconds, isFailure));
  return rates.some((rate) => rate === null) ? null : rates.filter((rate) => rate !== null);
}

function rateOf(
  before: Counts | undefined,
  { subject, outcomes, durations }: Counts,
  seconds: number,
  isFailure: (outcome: string) => boolean,
): Rate | null {
  const earlier = new Map(before?.outcomes.map(({ outcome, count }) => [outcome, count]));
  const changes = outcomes.map(({ outcome, count }) => ({ outcome, count: count - (earlier.get(outcome) ?? 0) }));
  if (changes.some(({ count }) => count < 0)) return null;
  const total = sum(changes.map(({ count }) => count));
  const failures = sum(changes.filter(({ outcome }) => isFailure(outcome)).map(({ count }) => count));
  const buckets = durations.map(({ up_to_ms: upToMs, count }, index) => ({
    upToMs,
    count: count - (before?.durations[index]?.count ?? 0),
  }));
  return {
    subject,
    perSecond: total / seconds,
    failureShare: total === 0 ? 0 : failures / total,
    p50Ms: quantile(buckets, 0.5),
    p95Ms: quantile(buckets, 0.95),
    p99Ms: quantile(buckets, 0.99),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** By linear interpolation in the bucket, as Prometheus' `histogram_quantile` does it. */
export function quantile(
  buckets: readonly { readonly upToMs: number | null; readonly count: number }[],
  share: number,
): number | null {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return null;
  const rank = share * total;
  const index = buckets.findIndex(({ count }) => count >= rank);
  const [lower, upper] = [buckets[index - 1], buckets[index]];
  const lowerMs = lower?.upToMs ?? 0;
  if (upper === undefined || upper.upToMs === null) return lowerMs;
  const within = upper.count - (lower?.count ?? 0);
  return lowerMs + (upper.upToMs - lowerMs) * ((rank - (lower?.count ?? 0)) / Math.max(within, 1));
}

/** The sum of several: the quantiles are the worst of them. */
export function together(rates: readonly Rate[]): Omit<Rate, 'subject'> {
  const perSecond = sum(rates.map((rate) => rate.perSecond));
  const failures = sum(rates.map((rate) => rate.failureShare * rate.perSecond));
  const worst = (name: 'p50Ms' | 'p95Ms' | 'p99Ms'): number | null =>
    rates.reduce<number | null>((most, rate) => (rate[name] === null ? most : Math.max(most ?? 0, rate[name])), null);
  return {
    perSecond,
    failureShare: perSecond === 0 ? 0 : failures / perSecond,
    p50Ms: worst('p50Ms'),
    p95Ms: worst('p95Ms'),
    p99Ms: worst('p99Ms'),
  };
}
