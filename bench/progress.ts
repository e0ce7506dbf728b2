import type { BenchContext } from './bench-context.ts';

const MINUTE_MS = 60_000;

/**
 * Logs a line each time another tenth of the work is done, with the time that the rest takes at the pace so far. The
 * function that is returned is called with how much has been done since the last call.
 */
export function logProgressOf(
  { logProgress }: Pick<BenchContext, 'logProgress'>,
  what: string,
  total: number,
): (count: number) => void {
  const startedMs = performance.now();
  let done = 0;
  let logged = 0;
  return (count) => {
    done += count;
    if (done - logged < total / 10 && done < total) return;
    logged = done;
    const leftMs = ((performance.now() - startedMs) / done) * (total - done);
    logProgress(`  ${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${what}, ${timeLeft(leftMs)}`);
  };
}

const timeLeft = (ms: number): string =>
  ms >= MINUTE_MS ? `${Math.round(ms / MINUTE_MS)} min left` : `${Math.ceil(ms / 1_000)} s left`;
