import { type Alignment, align, type Link } from './align.ts';
import { isNumberWord } from './company-forms.ts';
import { isWeakName } from './known-names.ts';
import type { NameMatchReason } from './reasons.ts';
import { alternativeKey, spellingKey } from './spelling.ts';
import { hasDigit, lettersOf } from './words.ts';

/** What the words of two names come to, before forms, titles and the like are weighed. */
export type Grade = 'same' | 'close' | 'different';

export interface Comparison {
  readonly grade: Grade;
  /** How much of both names found a counterpart, 0 to 1. */
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

/** Links that leave room for another person. */
const UNCERTAIN_LINKS: ReadonlySet<Link> = new Set(['similar', 'typo', 'initials', 'initial']);
const PATRONYMICS = new Set(['BIN', 'BINTI', 'BT', 'BTE', 'IBN']);

export function compareWords(left: readonly string[], right: readonly string[], isCompany: boolean): Comparison {
  if (left.length === right.length) {
    if (left.every((word, index) => word === right[index])) return { grade: 'same', share: 1, reasons: ['EXACT'] };
  } else {
    const divided = compareUndivided(left.join(''), right.join(''), isCompany);
    if (divided !== null) return divided;
    if (isCompany && (isAcronym(left, right) || isAcronym(right, left))) {
      return { grade: 'close', share: 0.7, reasons: ['INITIAL'] };
    }
  }
  const alignment = align(left, right, isCompany);
  const share = shareOf(alignment, left, right);
  const refusal = differencesOf(alignment, left, right, isCompany);
  if (refusal !== null) return { grade: 'different', share, reasons: refusal };
  return { grade: isSure(alignment, left, right, isCompany) ? 'same' : 'close', share, reasons: reasonsOf(alignment) };
}

/** `SITI NURHALIZA` and `SITINURHALIZA`. Numbers would run together: 1 12 is not 11 2. */
function compareUndivided(left: string, right: string, isCompany: boolean): Comparison | null {
  if (hasDigit(left)) return null;
  if (left === right) return { grade: 'same', share: 1, reasons: ['SPACING'] };
  const isVariant = spellingKey(left) === spellingKey(right) || alternativeKey(left) === alternativeKey(right);
  return isVariant
    ? { grade: isCompany ? 'close' : 'same', share: 0.95, reasons: ['SPELLING_VARIANT', 'SPACING'] }
    : null;
}

/** `BCA` and `BANK CENTRAL ASIA`: a company's initials, of three words at least. */
function isAcronym(short: readonly string[], long: readonly string[]): boolean {
  const [acronym = ''] = short;
  return (
    short.length === 1 &&
    long.length >= 3 &&
    acronym.length === long.length &&
    long.every((word, index) => word.charAt(0) === acronym.charAt(index))
  );
}

/** Reasons why these are different holders; null where they may be one. */
function differencesOf(
  alignment: Alignment,
  left: readonly string[],
  right: readonly string[],
  isCompany: boolean,
): readonly NameMatchReason[] | null {
  const { leftOver, rightOver, inOrder, pairings } = alignment;
  const over = [...leftOver, ...rightOver];
  const reasons: NameMatchReason[] = [];
  if (over.some((word) => hasDigit(word) || isNumberWord(word))) reasons.push('NUMBER_DIFFERS');
  if (leftOver.length > 0 && rightOver.length > 0) reasons.push('DIFFERENT_WORD');
  const isMissing = over.length > 0;
  if (reasons.length === 0 && isMissing && isCompany) reasons.push('WORD_MISSING');
  if (!inOrder && (isCompany || [...left, ...right].some((word) => PATRONYMICS.has(word)))) reasons.push('WORD_ORDER');
  if (reasons.length > 0) return reasons;

  const isSingle = left.length === 1 || right.length === 1;
  if (isSingle && isMissing) return ['WORD_MISSING', 'SINGLE_NAME'];
  if (isSingle && pairings.some(({ link }) => link === 'typo' || link === 'initial')) {
    return ['DIFFERENT_WORD', 'SINGLE_NAME'];
  }
  if (isMissing && !isDistinctive(alignment, left)) return ['WORD_MISSING'];
  const doubts = countUncertainties(alignment);
  const isTooMuch = doubts > 2 || (doubts === 2 && !isDistinctive(alignment, left));
  return isTooMuch ? reasonsOf(alignment) : null;
}

/** How many sorts of doubt meet in one comparison. */
function countUncertainties({ pairings, leftOver, rightOver, inOrder }: Alignment): number {
  let doubts = inOrder ? 0 : 1;
  if (leftOver.length + rightOver.length > 0) doubts++;
  if (pairings.some(({ link }) => link === 'typo')) doubts++;
  if (pairings.some(({ link }) => link === 'similar')) doubts++;
  if (pairings.some(({ link }) => link === 'initial' || link === 'initials')) doubts++;
  return doubts;
}

const isFull = (link: Link): boolean => !UNCERTAIN_LINKS.has(link) && link !== 'abbreviated';

/** Two full words at least, one of them no name that everybody bears. */
function isDistinctive({ pairings }: Alignment, left: readonly string[]): boolean {
  const full = pairings.filter(({ link }) => isFull(link));
  const words = full.reduce((sum, { leftCount, rightCount }) => sum + Math.max(leftCount, rightCount), 0);
  return words >= 2 && full.some((pairing) => !isWeakName(spellingKey(left[pairing.left] ?? '')));
}

function isSure(alignment: Alignment, left: readonly string[], right: readonly string[], isCompany: boolean): boolean {
  const { pairings, leftOver, rightOver, inOrder } = alignment;
  if (!inOrder || leftOver.length + rightOver.length > 0) return false;
  if (pairings.some(({ link }) => UNCERTAIN_LINKS.has(link))) return false;
  if (isCompany) return pairings.every(({ link }) => link === 'equal' || link === 'joined');
  if (left.length === 1 && right.length === 1) return false;
  // M. Ali fits many a Muhammad Ali: an abbreviation needs a full word of some length beside it.
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
  let worth = 0;
  for (const { link, left: leftAt, right: rightAt, leftCount, rightCount } of pairings) {
    const letters =
      lettersOf(left.slice(leftAt, leftAt + leftCount)) + lettersOf(right.slice(rightAt, rightAt + rightCount));
    worth += LINK_WEIGHTS[link] * letters;
  }
  return worth / Math.max(1, lettersOf(left) + lettersOf(right));
}
