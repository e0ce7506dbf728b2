/** How long the last answers took. */
export interface Latencies {
  record(ms: number): void;
  /** How many are remembered. */
  count(): number;
  /** In milliseconds; `part` as 0.95 for the 95th percentile. Null when too few are known to say. */
  quantile(part: number): number | null;
}

const REMEMBERED = 1_024;
const NEEDED = 20;
/** Quantiles change slowly: sorting again for each answer would cost more than it tells. */
const STALE_AFTER = 64;

export function createLatencies(): Latencies {
  const ring = new Float32Array(REMEMBERED);
  let recorded = 0;
  let sorted = new Float32Array(0);
  let sortedAt = 0;

  return {
    record(ms) {
      ring[recorded % REMEMBERED] = ms;
      recorded += 1;
    },
    count: () => Math.min(recorded, REMEMBERED),
    quantile(part) {
      if (recorded < NEEDED) return null;
      // While few are known, each one matters.
      if (sorted.length === 0 || recorded - sortedAt >= Math.min(STALE_AFTER, sorted.length / 10)) {
        sorted = ring.slice(0, Math.min(recorded, REMEMBERED)).sort();
        sortedAt = recorded;
      }
      return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? null;
    },
  };
}
