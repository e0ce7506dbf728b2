import { type Alignment, align, type Link } from './align.ts';
import { isNumberWord } from './company-forms.ts';
import { isVeryCommonName } from './known-names.ts';
import type { NameMatchReason } from './reasons.ts';
import { alternativeKey, spellingKey } from './spelling.ts';
import { hasDigit, lettersOf } from './words.ts';

/** How well the words of two names agree, before company forms, titles and other parts are considered. */
export type Grade = 'same' | 'close' | 'different';

export interface Comparison {
  readonly grade: Grade;
  /** The weighted share of the letters of both names that have a counterpart, 0 to 1. */
  readonly share: number;
  readonly reasons: readonly NameMatchReason[];
}

const LINK_WEIGHTS: Readonly<Record<Link, number>> = {
  equal: 1,
  joined: 1,
  variant: 0.95,
  abbreviated: 0.9,
  similar: 0.85,
  typo: 0.8,
  initials: 0.6,
  initial: 0.5,
};

const REASON_OF: Readonly<Record<Link, NameMatchReason | null>> = {
  equal: null,
  joined: 'SPACING',
  variant: 'SPELLING_VARIANT',
  abbreviated: 'ABBREVIATED',
  similar: 'SIMILAR_SPELLING',
  typo: 'TYPO',
  initials: 'INITIAL',
  initial: 'INITIAL',
};

/** Links that another person's name can have as well. */
const UNCERTAIN_LINKS: ReadonlySet<Link> = new Set(['similar', 'typo', 'initials', 'initial']);
const PATRONYMICS = new Set(['BIN', 'BINTI', 'BT', 'BTE', 'IBN']);

export function compareWords(left: readonly string[], right: readonly string[], isCompany: boolean): Comparison {
  if (left.length === right.length) {
    if (left.every((word, index) => word === right[index])) return { grade: 'same', share: 1, reasons: ['EXACT'] };
  } else {
    const undivided = compareUndivided(left.join(''), right.join(''), isCompany);
    if (undivided !== null) return undivided;
    if (isCompany && (isAcronym(left, right) || isAcronym(right, left))) {
      return { grade: 'close', share: 0.7, reasons: ['INITIAL'] };
    }
  }
  const alignment = align(left, right, isCompany);
  const share = shareOf(alignment, left, right);
  const differences = differencesOf(alignment, left, right, isCompany);
  if (differences !== null) return { grade: 'different', share, reasons: differences };
  return {
    grade: isCertain(alignment, left, right, isCompany) ? 'same' : 'close',
    share,
    reasons: reasonsOf(alignment),
  };
}

/** `SITI NURHALIZA` and `SITINURHALIZA`. Not for digits, which would run together: 1 12 is not 11 2. */
function compareUndivided(left: string, right: string, isCompany: boolean): Comparison | null {
  if (hasDigit(left)) return null;
  if (left === right) return { grade: 'same', share: 1, reasons: ['SPACING'] };
  const isVariant = spellingKey(left) === spellingKey(right) || alternativeKey(left) === alternativeKey(right);
  return isVariant
    ? { grade: isCompany ? 'close' : 'same', share: 0.95, reasons: ['SPELLING_VARIANT', 'SPACING'] }
    : null;
}

/** `BCA` and `BANK CENTRAL ASIA`: the initials of a company name of at least three words. */
function isAcronym(short: readonly string[], long: readonly string[]): boolean {
  const [acronym = ''] = short;
  return (
    short.length === 1 &&
    long.length >= 3 &&
    acronym.length === long.length &&
    long.every((word, index) => word.charAt(0) === acronym.charAt(index))
  );
}

/** The reasons why these are different holders; null if they may be the same. */
function differencesOf(
  alignment: Alignment,
  left: readonly string[],
  right: readonly string[],
  isCompany: boolean,
): readonly NameMatchReason[] | null {
  const { leftOver, rightOver, inOrder, pairings } = alignment;
  const unpaired = [...leftOver, ...rightOver];
  const reasons: NameMatchReason[] = [];
  if (unpaired.some((word) => hasDigit(word) || isNumberWord(word))) reasons.push('NUMBER_DIFFERS');
  if (leftOver.length > 0 && rightOver.length > 0) reasons.push('DIFFERENT_WORD');
  const isMissing = unpaired.length > 0;
  if (reasons.length === 0 && isMissing && isCompany) reasons.push('WORD_MISSING');
  if (!inOrder && (isCompany || [...left, ...right].some((word) => PATRONYMICS.has(word)))) reasons.push('WORD_ORDER');
  if (reasons.length > 0) return reasons;

  const isSingle = left.length === 1 || right.length === 1;
  if (isSingle && isMissing) return ['WORD_MISSING', 'SINGLE_NAME'];
  if (isSingle && pairings.some(({ link }) => link === 'typo' || link === 'initial')) {
    return ['DIFFERENT_WORD', 'SINGLE_NAME'];
  }
  if (isMissing && !isDistinctive(alignment, left)) return ['WORD_MISSING'];
  const uncertainties = countUncertainties(alignment);
  const isTooUncertain = uncertainties > 2 || (uncertainties === 2 && !isDistinctive(alignment, left));
  return isTooUncertain ? reasonsOf(alignment) : null;
}

/** The number of kinds of uncertainty in one comparison. */
function countUncertainties({ pairings, leftOver, rightOver, inOrder }: Alignment): number {
  let count = inOrder ? 0 : 1;
  if (leftOver.length + rightOver.length > 0) count++;
  if (pairings.some(({ link }) => link === 'typo')) count++;
  if (pairings.some(({ link }) => link === 'similar')) count++;
  if (pairings.some(({ link }) => link === 'initial' || link === 'initials')) count++;
  return count;
}

const isFull = (link: Link): boolean => !UNCERTAIN_LINKS.has(link) && link !== 'abbreviated';

/** Whether at least two full words agree, and one of them is not a very common name. */
function isDistinctive({ pairings }: Alignment, left: readonly string[]): boolean {
  const full = pairings.filter(({ link }) => isFull(link));
  const words = full.reduce((sum, { leftCount, rightCount }) => sum + Math.max(leftCount, rightCount), 0);
  return words >= 2 && full.some((pairing) => !isVeryCommonName(spellingKey(left[pairing.left] ?? '')));
}

function isCertain(
  alignment: Alignment,
  left: readonly string[],
  right: readonly string[],
  isCompany: boolean,
): boolean {
  const { pairings, leftOver, rightOver, inOrder } = alignment;
  if (!inOrder || leftOver.length + rightOver.length > 0) return false;
  if (pairings.some(({ link }) => UNCERTAIN_LINKS.has(link))) return false;
  if (isCompany) return pairings.every(({ link }) => link === 'equal' || link === 'joined');
  if (left.length === 1 && right.length === 1) return false;
  // M. Ali matches every Muhammad Ali: an abbreviation needs a full word of at least four letters beside it.
  const isAbbreviated = pairings.some(({ link }) => link === 'abbreviated');
  return !isAbbreviated || pairings.some(({ link, left: at }) => isFull(link) && (left[at] ?? '').length >= 4);
}

function reasonsOf({ pairings, leftOver, rightOver, inOrder }: Alignment): NameMatchReason[] {
  const reasons = new Set<NameMatchReason>();
  for (const { link } of pairings) {
    const reason = REASON_OF[link];
    if (reason !== null) reasons.add(reason);
  }
  if (!inOrder) reasons.add('WORD_ORDER');
  if (leftOver.length + rightOver.length > 0) reasons.add('WORD_MISSING');
  return [...reasons];
}

function shareOf({ pairings }: Alignment, left: readonly string[], right: readonly string[]): number {
  let weighted = 0;
  for (const { link, left: leftAt, right: rightAt, leftCount, rightCount } of pairings) {
    const letters =
      lettersOf(left.slice(leftAt, leftAt + leftCount)) + lettersOf(right.slice(rightAt, rightAt + rightCount));
    weighted += LINK_WEIGHTS[link] * letters;
  }
  return weighted / Math.max(1, lettersOf(left) + lettersOf(right));
}
