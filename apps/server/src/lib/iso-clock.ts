/**
 * Returns the time as ISO 8601 UTC with milliseconds. The part up to the second is formatted once a second: formatting
 * all of it costs more than most other parts of a response. `clock` has whole milliseconds since 1970.
 */
export function createIsoClock(clock: () => number = () => Date.now()): () => string {
  let formattedSecond = Number.NaN;
  let prefix = '';
  return () => {
    const nowMs = clock();
    const second = Math.floor(nowMs / 1000);
    if (second !== formattedSecond) {
      formattedSecond = second;
      prefix = new Date(nowMs).toISOString().slice(0, -4);
    }
    return `${prefix}${MILLISECONDS[nowMs - second * 1000]}Z`;
  };
}

const MILLISECONDS = Array.from({ length: 1000 }, (_, ms) => String(ms).padStart(3, '0'));
