/** What a round came to; NaN for what it does not measure. */
export interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the process under test for each change, in microseconds. */
  readonly cpuUs: number;
}

export const NO_FIGURES: Figures = { perSecond: Number.NaN, p50Ms: Number.NaN, p99Ms: Number.NaN, cpuUs: Number.NaN };

/** How long it took from each time to the other, by identifier. @throws Error when one has not come. */
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
