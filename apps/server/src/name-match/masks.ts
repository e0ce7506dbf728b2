import { abbreviates } from './abbreviations.ts';
import { spellingKey } from './spelling.ts';
import { MASK } from './words.ts';

/** Names with masked letters: `JO** D**`. The visible letters can contradict a name, but never prove it. */

const VISIBLE_MIN = 3;

export type MaskedComparison =
  | { readonly fits: 'yes' | 'no'; readonly visibleShare: number }
  | { readonly fits: 'too few visible' };

export const isMasked = (words: readonly string[]): boolean => words.some((word) => word.includes(MASK));

/** Compares `plain`, words without masked letters, with `masked`. */
export function compareMasked(plain: readonly string[], masked: readonly string[]): MaskedComparison {
  const visible = countVisible(masked);
  if (visible === 0) return { fits: 'too few visible' };
  const visibleShare = Math.min(1, visible / Math.max(1, plain.join('').length));
  if (!fitsInOrder(plain, masked)) return { fits: 'no', visibleShare };
  return visible < VISIBLE_MIN ? { fits: 'too few visible' } : { fits: 'yes', visibleShare };
}

function countVisible(words: readonly string[]): number {
  let visible = 0;
  for (const word of words) for (const letter of word) if (letter !== MASK) visible++;
  return visible;
}

function fitsInOrder(plain: readonly string[], masked: readonly string[]): boolean {
  const keepsLength = masksLetterByLetter(masked);
  if (masked.length === plain.length || (masked.length < plain.length && masked.length > 1)) {
    return masked.every((word, index) => fits(plain[index] ?? '', word, keepsLength));
  }
  // The mask may cover the spaces.
  return masked.length === 1 && fits(plain.join(''), masked[0] ?? '', false);
}

/**
 * Some banks print one star per masked letter, others a fixed number of stars: runs of different lengths mean one per
 * letter.
 */
function masksLetterByLetter(words: readonly string[]): boolean {
  let length = 0;
  for (const word of words) {
    const run = word.split(MASK).length - 1;
    if (run === 0) continue;
    if (length !== 0 && run !== length) return true;
    length = run;
  }
  return false;
}

function fits(plain: string, masked: string, keepsLength: boolean): boolean {
  if (!masked.includes(MASK))
    return plain === masked || spellingKey(plain) === spellingKey(masked) || isAbbreviatedBy(plain, masked);
  if (isAbbreviatedBy(plain, masked)) return true;
  if (keepsLength && plain.length === masked.length) {
    for (let index = 0; index < masked.length; index++) {
      if (masked.charAt(index) !== MASK && masked.charAt(index) !== plain.charAt(index)) return false;
    }
    return true;
  }
  const parts = masked.split(MASK);
  const front = parts[0] ?? '';
  const back = parts.at(-1) ?? '';
  const visible = front.length + back.length;
  if (keepsLength || visible > plain.length) {
    // Soeharto masked as SUH****: the length is that of another spelling.
    const key = spellingKey(plain);
    return key !== plain && key.length === masked.length && key.startsWith(front) && key.endsWith(back);
  }
  return fitsLoosely(plain, parts, front, back) || spellingKey(plain).startsWith(masked.slice(0, -1));
}

function fitsLoosely(plain: string, parts: readonly string[], front: string, back: string): boolean {
  if (!plain.startsWith(front) || !plain.endsWith(back)) return false;
  let at = front.length;
  for (const part of parts.slice(1, -1)) {
    if (part === '') continue;
    const found = plain.indexOf(part, at);
    if (found === -1 || found + part.length > plain.length - back.length) return false;
    at = found + part.length;
  }
  return true;
}

/** `M` is expected and the bank shows `MUH*****`. */
function isAbbreviatedBy(plain: string, masked: string): boolean {
  if (plain.length === 1) return plain === masked.charAt(0);
  return masked.startsWith('M') && plain.startsWith('M') && abbreviates(plain, spellingKey('MUHAMMAD'));
}
