import { abbreviates, isInitialsOf } from './abbreviations.ts';
import { isNumberWord } from './company-forms.ts';
import { isKnownName } from './known-names.ts';
import { alternativeKey, looseKey, spellingKey } from './spelling.ts';
import { isTypo } from './typos.ts';
import { hasDigit } from './words.ts';

/** How a word of one name found its counterpart in the other. */
export type Link = 'equal' | 'variant' | 'abbreviated' | 'similar' | 'joined' | 'initials' | 'initial' | 'typo';

export interface Pairing {
  readonly link: Link;
  /** The word, or the first of the words, of each name. */
  readonly left: number;
  readonly right: number;
  /** How many words of each name it takes. */
  readonly leftCount: number;
  readonly rightCount: number;
}

export interface Alignment {
  readonly pairings: readonly Pairing[];
  readonly leftOver: readonly string[];
  readonly rightOver: readonly string[];
  readonly inOrder: boolean;
}

/** Keys are reckoned when they are first asked for: most names need few. */
interface Keyed {
  readonly text: string;
  key: string | null;
  alternative: string | null;
  loose: string | null;
}

const keyed = (text: string): Keyed => ({ text, key: null, alternative: null, loose: null });
/** Numbers are spelled in one way: 11 is not a variant of 1, nor III of II. */
const isNumber = (text: string): boolean => hasDigit(text) || isNumberWord(text);
const keyOf = (word: Keyed): string => (word.key ??= isNumber(word.text) ? word.text : spellingKey(word.text));
const alternativeOf = (word: Keyed): string =>
  (word.alternative ??= word.text.includes('CH') ? alternativeKey(word.text) : keyOf(word));
const looseOf = (word: Keyed): string => (word.loose ??= isNumber(word.text) ? word.text : looseKey(word.text));

/** Whether two texts are spelling variants, by the safe rules. */
const isVariant = (left: Keyed, right: Keyed): boolean =>
  keyOf(left) === keyOf(right) ||
  alternativeOf(left) === alternativeOf(right) ||
  keyOf(left) === alternativeOf(right) ||
  alternativeOf(left) === keyOf(right);

/** Finds for each word its counterpart, the surest links first. `strict`: companies, whose words are not abbreviated freely. */
export function align(leftWords: readonly string[], rightWords: readonly string[], strict: boolean): Alignment {
  const left = leftWords.map(keyed);
  const right = rightWords.map(keyed);
  // Bit n is set when word n is taken. A name has at most 24 words.
  let leftTaken = 0;
  let rightTaken = 0;
  const pairings: Pairing[] = [];

  const take = (link: Link, leftAt: number, rightAt: number, leftCount = 1, rightCount = 1) => {
    leftTaken |= ((1 << leftCount) - 1) << leftAt;
    rightTaken |= ((1 << rightCount) - 1) << rightAt;
    pairings.push({ link, left: leftAt, right: rightAt, leftCount, rightCount });
  };
  const isFree = (taken: number, at: number): boolean => (taken & (1 << at)) === 0;
  const areAllTaken = (): boolean => pairings.length === left.length && pairings.length === right.length;

  function pass(linkOf: (left: Keyed, right: Keyed) => Link | null): void {
    for (let leftAt = 0; leftAt < left.length; leftAt++) {
      const word = left[leftAt];
      if (word === undefined || !isFree(leftTaken, leftAt)) continue;
      for (let rightAt = 0; rightAt < right.length; rightAt++) {
        const other = right[rightAt];
        if (other === undefined || !isFree(rightTaken, rightAt)) continue;
        const link = linkOf(word, other);
        if (link === null) continue;
        take(link, leftAt, rightAt);
        break;
      }
    }
  }

  pass((word, other) => (word.text === other.text ? 'equal' : null));
  if (!areAllTaken()) pass((word, other) => (isVariant(word, other) ? 'variant' : null));
  if (!areAllTaken()) joinedPass();
  if (!areAllTaken()) pass((word, other) => (looseOf(word) === looseOf(other) ? 'similar' : null));
  if (!areAllTaken() && !strict) {
    pass((word, other) =>
      abbreviates(word.text, keyOf(other)) || abbreviates(other.text, keyOf(word)) ? 'abbreviated' : null,
    );
    initialsPass();
    pass(initialLink);
  }
  const leftFree = left.filter((_, at) => isFree(leftTaken, at));
  const rightFree = right.filter((_, at) => isFree(rightTaken, at));
  if (leftFree.length === 1 && rightFree.length === 1) pass(typoLink);

  /** `NUR HIDAYATI` and `NURHIDAYATI`: two or three words of one name are one of the other. */
  function joinedPass(): void {
    for (const count of [2, 3]) {
      for (let leftAt = 0; leftAt < left.length; leftAt++) {
        for (let rightAt = 0; rightAt < right.length; rightAt++) joinAt(leftAt, rightAt, count);
      }
    }
  }

  function joinAt(leftAt: number, rightAt: number, count: number): void {
    if (!isFree(leftTaken, leftAt) || !isFree(rightTaken, rightAt)) return;
    const word = left[leftAt];
    const other = right[rightAt];
    if (word === undefined || other === undefined) return;
    if (other.text.length > word.text.length && areFree(leftTaken, leftAt, count, left.length)) {
      if (isVariant(keyed(joinedText(left, leftAt, count)), other)) take('joined', leftAt, rightAt, count, 1);
    } else if (word.text.length > other.text.length && areFree(rightTaken, rightAt, count, right.length)) {
      if (isVariant(word, keyed(joinedText(right, rightAt, count)))) take('joined', leftAt, rightAt, 1, count);
    }
  }

  function initialsPass(): void {
    for (let leftAt = 0; leftAt < left.length; leftAt++) {
      for (let rightAt = 0; rightAt < right.length; rightAt++) {
        if (!isFree(leftTaken, leftAt) || !isFree(rightTaken, rightAt)) continue;
        const [word = '', wordAfter = ''] = [left[leftAt]?.text, left[leftAt + 1]?.text];
        const [other = '', otherAfter = ''] = [right[rightAt]?.text, right[rightAt + 1]?.text];
        if (isFree(rightTaken, rightAt + 1) && isInitialsOf(word, other, otherAfter))
          take('initials', leftAt, rightAt, 1, 2);
        else if (isFree(leftTaken, leftAt + 1) && isInitialsOf(other, word, wordAfter))
          take('initials', leftAt, rightAt, 2, 1);
      }
    }
  }

  return {
    pairings,
    leftOver: left.filter((_, at) => isFree(leftTaken, at)).map((word) => word.text),
    rightOver: right.filter((_, at) => isFree(rightTaken, at)).map((word) => word.text),
    inOrder: areInOrder(pairings),
  };
}

function areFree(taken: number, at: number, count: number, length: number): boolean {
  return at + count <= length && (taken & (((1 << count) - 1) << at)) === 0;
}

function joinedText(words: readonly Keyed[], at: number, count: number): string {
  let text = '';
  for (let index = at; index < at + count; index++) text += words[index]?.text ?? '';
  return text;
}

function initialLink(word: Keyed, other: Keyed): Link | null {
  if (word.text.length > 1 && other.text.length > 1) return null;
  return word.text.charAt(0) === other.text.charAt(0) && !hasDigit(word.text + other.text) ? 'initial' : null;
}

function typoLink(word: Keyed, other: Keyed): Link | null {
  if (hasDigit(word.text + other.text) || (isKnownName(keyOf(word)) && isKnownName(keyOf(other)))) return null;
  return isTypo(word.text, other.text) || isTypo(keyOf(word), keyOf(other)) ? 'typo' : null;
}

function areInOrder(pairings: readonly Pairing[]): boolean {
  const byLeft = pairings.toSorted((one, other) => one.left - other.left);
  return byLeft.every((pairing, index) => index === 0 || pairing.right > (byLeft[index - 1]?.right ?? -1));
}
