import { JAKARTA_OFFSET_MS } from '../../domain/instant.ts';
import type { TimestampStyle } from './profiles/profile.ts';

/** X-TIMESTAMP: `yyyy-MM-ddTHH:mm:ssTZD` in the banks' own zone, which keeps no summer time. */
export const snapTimestamp = (now: number): string =>
  `${new Date(now + JAKARTA_OFFSET_MS).toISOString().slice(0, 19)}+07:00`;

const utcTimestamp = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

/** X-TIMESTAMP for now, as a bank wants it. One without milliseconds is made once a second, for all requests of it. */
export function createSnapClock(style: TimestampStyle): () => string {
  if (style === 'utc_milliseconds') return () => new Date().toISOString();
  const write = style === 'utc' ? utcTimestamp : snapTimestamp;
  let madeFor = Number.NaN;
  let text = '';
  return () => {
    const second = Math.floor(Date.now() / 1000);
    if (second !== madeFor) {
      madeFor = second;
      text = write(second * 1000);
    }
    return text;
  };
}
