const WESTERN_INDONESIA_TIME_MS = 7 * 60 * 60 * 1000;

/** X-TIMESTAMP: `yyyy-MM-ddTHH:mm:ssTZD` in the banks' own zone, which keeps no summer time. */
export const snapTimestamp = (now: number): string =>
  `${new Date(now + WESTERN_INDONESIA_TIME_MS).toISOString().slice(0, 19)}+07:00`;

/** The same for now. Made once a second, for all requests of that second. */
export function createSnapClock(): () => string {
  let madeFor = Number.NaN;
  let text = '';
  return () => {
    const second = Math.floor(Date.now() / 1000);
    if (second !== madeFor) {
      madeFor = second;
      text = snapTimestamp(second * 1000);
    }
    return text;
  };
}
