import { abbreviates } from './abbreviations.ts';
import { isKnownName } from './known-names.ts';
import { spellingKey } from './spelling.ts';

/** Banks truncate names at 20, 24, 25 or 30 characters, depending on the bank and the channel. */
const LENGTH_MIN = 20;
const LENGTH_MAX = 30;
const FRAGMENT_MIN = 3;

export type CutOff = 'certain' | 'possible';

export interface CutName {
  readonly words: readonly string[];
  /** The length of the whole name as shown, with titles and spaces. */
  readonly length: number;
  readonly isCompany: boolean;
}

/** Whether `held` is the beginning of `expected`, truncated at a length at which banks truncate; null if it is not. */
export function findCutOff(expected: readonly string[], held: CutName): CutOff | null {
  const count = held.words.length;
  if (count === 0 || count > expected.length || !hasCutLength(held.length)) return null;
  for (let index = 0; index < count - 1; index++) {
    if (!isSameWord(expected[index] ?? '', held.words[index] ?? '')) return null;
  }
  const whole = expected[count - 1] ?? '';
  const fragment = held.words[count - 1] ?? '';
  const lostWords = expected.length - count;
  if (isSameWord(whole, fragment)) return lostWords === 0 ? null : 'possible';
  if (!isBeginning(fragment, whole) || held.length < LENGTH_MIN) return null;
  if (count < 2 || fragment.length < FRAGMENT_MIN || isKnownName(spellingKey(fragment))) return 'possible';
  if (losesGender(whole)) return 'possible';
  // Names of companies often differ only in their last words. For a person, three words are enough.
  if (lostWords > 0 && (held.isCompany || count < 3)) return 'possible';
  return lostWords > 1 ? 'possible' : 'certain';
}

/** The trailing space is lost: a name that was truncated before a word is one character shorter. */
const hasCutLength = (length: number): boolean => length >= LENGTH_MIN - 1 && length <= LENGTH_MAX;

function isSameWord(expected: string, held: string): boolean {
  if (expected === held) return true;
  const expectedKey = spellingKey(expected);
  const heldKey = spellingKey(held);
  return expectedKey === heldKey || abbreviates(expected, heldKey) || abbreviates(held, expectedKey);
}

function isBeginning(fragment: string, whole: string): boolean {
  if (fragment.length < whole.length && whole.startsWith(fragment)) return true;
  return fragment.length >= FRAGMENT_MIN && spellingKey(whole).startsWith(spellingKey(fragment));
}

/** Setiawa… may be Setiawan or Setiawati, Putr… Putra or Putri. */
const GENDERED_ENDINGS = ['WAN', 'WATI', 'PUTRA', 'PUTRI'];
const losesGender = (whole: string): boolean => GENDERED_ENDINGS.some((ending) => whole.endsWith(ending));
