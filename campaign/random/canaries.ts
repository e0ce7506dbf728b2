import type { Draws } from './draws.ts';

/**
 * Account numbers, names and secrets that the service must not write anywhere but into the answers to their owners. All
 * that were drawn are known, so that a text can be searched for each of them.
 */
export interface Canaries {
  /** Ten digits. `tail` replaces the last ones. */
  accountNumber(tail?: string): string;
  accountName(): string;
  /** A secret, a token, or the name of an account holder that a bank has answered. */
  add(text: string): void;
  /** Returns the first one in the text, or null. */
  find(text: string): string | null;
}

const DIGITS = 10;
/** No time since 1970 in seconds, and so few other numbers, begin with it. */
const FIRST_DIGITS = '83';
/** Not the decimals of a number, such as the sum of a histogram: they are any digits. */
const INTEGERS = /(?<!\d\.\d*)\d{10,}/g;
/** No other text contains it. */
const NAME_MARK = 'ZARKANA';
const LETTERS = Array.from('ABCDEFGHIJKLMNOPRSTUVWXYZ');

export function createCanaries(draws: Draws): Canaries {
  const numbers = new Set<string>();
  const texts = new Set<string>();
  let pattern: RegExp | null = null;

  function findNumber(text: string): string | null {
    for (const [run] of text.matchAll(INTEGERS)) {
      for (let start = run.indexOf(FIRST_DIGITS); start !== -1; start = run.indexOf(FIRST_DIGITS, start + 1)) {
        const number = run.slice(start, start + DIGITS);
        if (numbers.has(number)) return number;
      }
    }
    return null;
  }

  return {
    accountNumber(tail = '') {
      const number = (FIRST_DIGITS + draws.digits(DIGITS - FIRST_DIGITS.length)).slice(0, DIGITS - tail.length) + tail;
      numbers.add(number);
      return number;
    },
    accountName: () => `${NAME_MARK} ${Array.from({ length: 8 }, () => draws.pick(LETTERS)).join('')}`,
    add(text) {
      if (texts.has(text)) return;
      texts.add(text);
      pattern = null;
    },
    find(text) {
      pattern ??= new RegExp([NAME_MARK, ...[...texts].map((each) => RegExp.escape(each))].join('|'), 'i');
      return pattern.exec(text)?.[0] ?? findNumber(text);
    },
  };
}
