/** The result of a round; NaN for what the round does not measure. */
export interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the measured process per change, in microseconds. */
  readonly cpuUs: number;
}

export const NO_FIGURES: Figures = { perSecond: Number.NaN, p50Ms: Number.NaN, p99Ms: Number.NaN, cpuUs: Number.NaN };

/** The time from `from` to `to` for each identifier. @throws Error when an identifier is missing in `to`. */
export function latencies(from: ReadonlyMap<string, number>, to: ReadonlyMap<string, number>): number[] {
  return [...from].map(([id, fromMs]) => {
    const toMs = to.get(id);
    if (toMs === undefined) throw new Error(`${id} has not arrived`);
    return toMs - fromMs;
  });
}

export function percentiles(values: readonly number[]): Pick<Figures, 'p50Ms' | 'p99Ms'> {
  const sorted = values.toSorted((one, other) => one - other);
  const within = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { p50Ms: within(0.5), p99Ms: within(0.99) };
}
