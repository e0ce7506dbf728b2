import { randomInt } from 'node:crypto';

/** The most that every bank takes (Mandiri; ASPI, services 75 and 76). */
const DIGITS = 19;
const SECOND_DIGITS = 5;
const COUNT_DIGITS = 8;
const COUNT_END = 10 ** COUNT_DIGITS;

/**
 * X-EXTERNAL-ID: a numeric string that is unique within a day. The second of the day, a number of this process's own,
 * which fills what is left of `digits`, and a count.
 */
export function createExternalIds(now: () => number = Date.now, digits = DIGITS): () => string {
  const ownDigits = digits - SECOND_DIGITS - COUNT_DIGITS;
  const process = Array.from({ length: ownDigits }, () => randomInt(10)).join('');
  let count = 0;
  return () => {
    const secondOfDay = Math.floor(now() / 1000) % 86_400;
    count = (count + 1) % COUNT_END;
    return `${secondOfDay.toString().padStart(SECOND_DIGITS, '0')}${process}${count.toString().padStart(COUNT_DIGITS, '0')}`;
  };
}
