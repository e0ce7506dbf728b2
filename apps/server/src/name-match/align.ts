import { abbreviates, isInitialsOf } from './abbreviations.ts';
import { isNumberWord } from './company-forms.ts';
import { isKnownName } from './known-names.ts';
import { alternativeKey, looseKey, spellingKey } from './spelling.ts';
import { isTypo } from './typos.ts';
import { hasDigit } from './words.ts';

/** How a word of one name corresponds to its counterpart in the other. */
export type Link = 'equal' | 'variant' | 'abbreviated' | 'similar' | 'joined' | 'initials' | 'initial' | 'typo';

export interface Pairing {
  readonly link: Link;
  /** The index of the word, or of the first of the words, in each name. */
  readonly left: number;
  readonly right: number;
  /** The number of words of each name. */
  readonly leftCount: number;
  readonly rightCount: number;
}

export interface Alignment {
  readonly pairings: readonly Pairing[];
  /** The words of each name without a counterpart. */
  readonly leftOver: readonly string[];
  readonly rightOver: readonly string[];
  readonly inOrder: boolean;
}

/** A word with its spelling keys. They are computed on first use: most names need few of them. */
interface KeyedWord {
  readonly text: string;
  key: string | null;
  alternative: string | null;
  loose: string | null;
}

const keyed = (text: string): KeyedWord => ({ text, key: null, alternative: null, loose: null });
/** Numbers have one spelling: 11 is not a variant of 1, nor III of II. */
const isNumber = (text: string): boolean => hasDigit(text) || isNumberWord(text);
const keyOf = (word: KeyedWord): string => (word.key ??= isNumber(word.text) ? word.text : spellingKey(word.text));
const alternativeOf = (word: KeyedWord): string =>
  (word.alternative ??= word.text.includes('CH') ? alternativeKey(word.text) : keyOf(word));
const looseOf = (word: KeyedWord): string => (word.loose ??= isNumber(word.text) ? word.text : looseKey(word.text));

/** Whether two words are spelling variants by the safe rules. */
const isVariant = (left: KeyedWord, right: KeyedWord): boolean =>
  keyOf(left) === keyOf(right) ||
  alternativeOf(left) === alternativeOf(right) ||
  keyOf(left) === alternativeOf(right) ||
  alternativeOf(left) === keyOf(right);

/** The alignment in progress. */
interface State {
  readonly left: readonly KeyedWord[];
  readonly right: readonly KeyedWord[];
  /** Bit n is set when word n has a counterpart. A name has at most 24 words. */
  leftTaken: number;
  rightTaken: number;
  readonly pairings: Pairing[];
}

/**
 * Finds a counterpart for each word, the most certain links first. Words of companies are not abbreviated freely, so
 * links by abbreviation are for persons only.
 */
export function align(leftWords: readonly string[], rightWords: readonly string[], isCompany: boolean): Alignment {
  const left = leftWords.map(keyed);
  const right = rightWords.map(keyed);
  const state: State = { left, right, leftTaken: 0, rightTaken: 0, pairings: [] };

  pairWords(state, equalLink);
  if (!isComplete(state)) pairWords(state, variantLink);
  if (!isComplete(state)) pairJoinedWords(state);
  if (!isComplete(state)) pairWords(state, similarLink);
  if (!isComplete(state) && !isCompany) {
    pairWords(state, abbreviatedLink);
    pairInitials(state);
    pairWords(state, initialLink);
  }
  if (freeWords(left, state.leftTaken).length === 1 && freeWords(right, state.rightTaken).length === 1) {
    pairWords(state, typoLink);
  }

  return {
    pairings: state.pairings,
    leftOver: freeWords(left, state.leftTaken).map((word) => word.text),
    rightOver: freeWords(right, state.rightTaken).map((word) => word.text),
    inOrder: areInOrder(state.pairings),
  };
}

function take(state: State, link: Link, left: number, right: number, leftCount = 1, rightCount = 1): void {
  state.leftTaken |= ((1 << leftCount) - 1) << left;
  state.rightTaken |= ((1 << rightCount) - 1) << right;
  state.pairings.push({ link, left, right, leftCount, rightCount });
}

const isFree = (taken: number, at: number): boolean => (taken & (1 << at)) === 0;

const areFree = (taken: number, at: number, count: number, length: number): boolean =>
  at + count <= length && (taken & (((1 << count) - 1) << at)) === 0;

const freeWords = (words: readonly KeyedWord[], taken: number): KeyedWord[] =>
  words.filter((_, at) => isFree(taken, at));

const isComplete = ({ left, right, pairings }: State): boolean =>
  pairings.length === left.length && pairings.length === right.length;

/** Pairs each free word with the first free word of the other name that it has a link to. */
function pairWords(state: State, linkOf: (word: KeyedWord, other: KeyedWord) => Link | null): void {
  const { left, right } = state;
  for (let leftAt = 0; leftAt < left.length; leftAt++) {
    const word = left[leftAt];
    if (word === undefined || !isFree(state.leftTaken, leftAt)) continue;
    for (let rightAt = 0; rightAt < right.length; rightAt++) {
      const other = right[rightAt];
      if (other === undefined || !isFree(state.rightTaken, rightAt)) continue;
      const link = linkOf(word, other);
      if (link === null) continue;
      take(state, link, leftAt, rightAt);
      break;
    }
  }
}

/** `NUR HIDAYATI` and `NURHIDAYATI`: two or three words of one name are one word of the other. */
function pairJoinedWords(state: State): void {
  for (const count of [2, 3]) {
    for (let leftAt = 0; leftAt < state.left.length; leftAt++) {
      for (let rightAt = 0; rightAt < state.right.length; rightAt++) pairJoinedAt(state, leftAt, rightAt, count);
    }
  }
}

function pairJoinedAt(state: State, leftAt: number, rightAt: number, count: number): void {
  const { left, right, leftTaken, rightTaken } = state;
  if (!isFree(leftTaken, leftAt) || !isFree(rightTaken, rightAt)) return;
  const word = left[leftAt];
  const other = right[rightAt];
  if (word === undefined || other === undefined) return;
  if (other.text.length > word.text.length && areFree(leftTaken, leftAt, count, left.length)) {
    if (isVariant(keyed(joinedText(left, leftAt, count)), other)) take(state, 'joined', leftAt, rightAt, count, 1);
  } else if (word.text.length > other.text.length && areFree(rightTaken, rightAt, count, right.length)) {
    if (isVariant(word, keyed(joinedText(right, rightAt, count)))) take(state, 'joined', leftAt, rightAt, 1, count);
  }
}

function joinedText(words: readonly KeyedWord[], at: number, count: number): string {
  let text = '';
  for (let index = at; index < at + count; index++) text += words[index]?.text ?? '';
  return text;
}

/** `FX` and `FRANSISKUS XAVERIUS`: one word of one name is the initials of two words of the other. */
function pairInitials(state: State): void {
  const { left, right } = state;
  for (let leftAt = 0; leftAt < left.length; leftAt++) {
    for (let rightAt = 0; rightAt < right.length; rightAt++) {
      if (!isFree(state.leftTaken, leftAt) || !isFree(state.rightTaken, rightAt)) continue;
      const [word = '', wordAfter = ''] = [left[leftAt]?.text, left[leftAt + 1]?.text];
      const [other = '', otherAfter = ''] = [right[rightAt]?.text, right[rightAt + 1]?.text];
      if (isFree(state.rightTaken, rightAt + 1) && isInitialsOf(word, other, otherAfter)) {
        take(state, 'initials', leftAt, rightAt, 1, 2);
      } else if (isFree(state.leftTaken, leftAt + 1) && isInitialsOf(other, word, wordAfter)) {
        take(state, 'initials', leftAt, rightAt, 2, 1);
      }
    }
  }
}

const equalLink = (word: KeyedWord, other: KeyedWord): Link | null => (word.text === other.text ? 'equal' : null);

const variantLink = (word: KeyedWord, other: KeyedWord): Link | null => (isVariant(word, other) ? 'variant' : null);

const similarLink = (word: KeyedWord, other: KeyedWord): Link | null =>
  looseOf(word) === looseOf(other) ? 'similar' : null;

const abbreviatedLink = (word: KeyedWord, other: KeyedWord): Link | null =>
  abbreviates(word.text, keyOf(other)) || abbreviates(other.text, keyOf(word)) ? 'abbreviated' : null;

function initialLink(word: KeyedWord, other: KeyedWord): Link | null {
  if (word.text.length > 1 && other.text.length > 1) return null;
  return word.text.charAt(0) === other.text.charAt(0) && !hasDigit(word.text + other.text) ? 'initial' : null;
}

function typoLink(word: KeyedWord, other: KeyedWord): Link | null {
  if (hasDigit(word.text + other.text) || (isKnownName(keyOf(word)) && isKnownName(keyOf(other)))) return null;
  return isTypo(word.text, other.text) || isTypo(keyOf(word), keyOf(other)) ? 'typo' : null;
}

function areInOrder(pairings: readonly Pairing[]): boolean {
  const byLeft = pairings.toSorted((one, other) => one.left - other.left);
  return byLeft.every((pairing, index) => index === 0 || pairing.right > (byLeft[index - 1]?.right ?? -1));
}
