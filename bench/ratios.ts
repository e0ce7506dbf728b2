import type { Measurement } from './measure.ts';

export interface Budget {
  readonly bound: 'at most' | 'at least';
  readonly value: number;
}

export interface Ratio {
  readonly title: string;
  readonly value: number;
  /** Null for what is only good to know. */
  readonly budget: Budget | null;
}

export const isMissed = ({ value, budget }: Ratio): boolean =>
  budget !== null && !(budget.bound === 'at most' ? value <= budget.value : value >= budget.value);

/** The ratio of two variants in each round, of which the median: both had the same machine to themselves by turns. */
export function pairedRatio<Figure extends string>(
  ones: readonly Readonly<Record<Figure, number>>[],
  others: readonly Readonly<Record<Figure, number>>[],
  figure: Figure,
): number {
  return median(ones.map((one, round) => one[figure] / (others[round]?.[figure] ?? Number.NaN)));
}

/** The median of each figure, and all failures. */
export const medians = (measurements: readonly Measurement[]): Measurement => ({
  perSecond: median(measurements.map(({ perSecond }) => perSecond)),
  p50Ms: median(measurements.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(measurements.map(({ p99Ms }) => p99Ms)),
  cpuUsPerRequest: median(measurements.map(({ cpuUsPerRequest }) => cpuUsPerRequest)),
  failed: measurements.reduce((sum, { failed }) => sum + failed, 0),
});

/** Of an even number, the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}
