/**
 * Reads for many at the cost of one: a caller within `forMs` after the last reading began gets that one, also while it
 * still runs. A reading that fails is not kept.
 */
export function shareReading<T>(forMs: number, read: () => Promise<T>): () => Promise<T> {
  let latest: { readonly sinceMs: number; readonly reading: Promise<T> } | null = null;
  return () => {
    const nowMs = performance.now();
    if (latest !== null && nowMs - latest.sinceMs < forMs) return latest.reading;
    const reading = read();
    const begun = { sinceMs: nowMs, reading };
    latest = begun;
    reading.catch(() => {
      if (latest === begun) latest = null;
    });
    return reading;
  };
}
