import { randomInt } from 'node:crypto';

/**
 * X-EXTERNAL-ID: a numeric string that is unique within a day. 19 digits, because that is the most that some banks take
 * (Mandiri); the second of the day, a number of this process's own, and a count.
 */
export function createExternalIds(now: () => number = Date.now): () => string {
  const process = randomInt(1_000_000).toString().padStart(6, '0');
  let count = 0;
  return () => {
    const secondOfDay = Math.floor(now() / 1000) % 86_400;
    count = (count + 1) % 100_000_000;
    return `${secondOfDay.toString().padStart(5, '0')}${process}${count.toString().padStart(8, '0')}`;
  };
}
