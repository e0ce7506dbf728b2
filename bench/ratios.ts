import type { Measurement } from './measure.ts';

export interface Budget {
  readonly bound: 'at most' | 'at least';
  readonly value: number;
}

export interface Ratio {
  readonly title: string;
  readonly value: number;
  /** null for a figure without a limit. */
  readonly budget: Budget | null;
}

export const exceedsBudget = ({ value, budget }: Ratio): boolean =>
  budget !== null && !(budget.bound === 'at most' ? value <= budget.value : value >= budget.value);

/** The median of the ratios of two targets in each round: within a round, both ran on the same machine in turn. */
export function pairedRatio<Figure extends string>(
  ones: readonly Readonly<Record<Figure, number>>[],
  others: readonly Readonly<Record<Figure, number>>[],
  figure: Figure,
): number {
  return median(ones.map((one, round) => one[figure] / (others[round]?.[figure] ?? Number.NaN)));
}

/** The median of each figure, and the sum of the failures. */
export const medians = (measurements: readonly Measurement[]): Measurement => ({
  perSecond: median(measurements.map(({ perSecond }) => perSecond)),
  p50Ms: median(measurements.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(measurements.map(({ p99Ms }) => p99Ms)),
  cpuUsPerRequest: median(measurements.map(({ cpuUsPerRequest }) => cpuUsPerRequest)),
  failed: measurements.reduce((sum, { failed }) => sum + failed, 0),
});

/** Of an even number of values, the mean of the two in the middle. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}
