import { type Comparison, compareWords, type Grade } from './compare.ts';
import { findCutOff } from './cut-off.ts';
import { compareMasked, isMasked } from './masks.ts';
import type { Name } from './read-name.ts';
import type { NameMatchReason } from './reasons.ts';
import { isLatin, shownLength } from './words.ts';

/** What two names of one party each come to. */
export interface Assessment {
  readonly grade: Grade | 'not possible';
  readonly share: number;
  readonly reasons: readonly NameMatchReason[];
}

/** What a bank's breaking off is told from; null where parts of names are compared. */
export interface Shown {
  readonly expected: string;
  readonly held: string;
}

const notPossible = (...reasons: NameMatchReason[]): Assessment => ({ grade: 'not possible', share: 0, reasons });

export function assess(expected: Name, held: Name, shown: Shown | null): Assessment {
  if (expected.words.length === 0 || held.words.length === 0) return notPossible('EMPTY');
  if (expected.words.every(isLatin) !== held.words.every(isLatin)) return notPossible('OTHER_SCRIPT');
  const hides = [isMasked(expected.words), isMasked(held.words)];
  if (hides.includes(true)) {
    if (!hides.includes(false)) return notPossible('MASKED');
    const judgement = hides[1] ? assessMasked(expected, held) : assessMasked(held, expected);
    return withSurroundings(judgement, expected, held);
  }
  if (isInitialsOnly(expected) || isInitialsOnly(held)) return notPossible('TOO_SHORT');
  return withSurroundings(assessWords(expected, held, shown), expected, held);
}

const isInitialsOnly = (name: Name): boolean => name.company === null && name.words.every((word) => word.length === 1);

function assessMasked(plain: Name, masked: Name): Assessment {
  const comparison = compareMasked(plain.words, masked.words);
  if (comparison.fits === 'too little to see') return notPossible('MASKED', 'TOO_SHORT');
  const share = comparison.visibleShare;
  if (comparison.fits === 'no') return { grade: 'different', share: share / 2, reasons: ['MASKED', 'DIFFERENT_WORD'] };
  return { grade: 'close', share, reasons: ['MASKED'] };
}

function assessWords(expected: Name, held: Name, shown: Shown | null): Assessment {
  const isCompany = expected.company !== null || held.company !== null;
  const comparison = compareWithInitials(expected, held, isCompany);
  if (comparison.grade === 'same') return comparison;
  if (shown === null) return comparison;
  const heldName = { words: held.words, length: shownLength(shown.held), isCompany };
  const cutHeld = findCutOff(expected.words, heldName);
  if (cutHeld !== null) return { grade: cutHeld === 'sure' ? 'same' : 'close', share: 0.95, reasons: ['CUT_OFF'] };
  // The client's own system may break names off, at a length that nobody here knows.
  const expectedName = { words: expected.words, length: shownLength(shown.expected), isCompany };
  const isCutExpected = findCutOff(held.words, expectedName) !== null;
  return isCutExpected ? { grade: 'close', share: 0.85, reasons: ['CUT_OFF'] } : comparison;
}

/** The H of `H. Gunawan` is Haji, unless it turns out to be Hendra. */
function compareWithInitials(expected: Name, held: Name, isCompany: boolean): Comparison {
  const comparison = compareWords(expected.words, held.words, isCompany);
  const [initial, heldInitial] = [initialOf(expected), initialOf(held)];
  if (comparison.grade !== 'different' || (initial.length === 0 && heldInitial.length === 0)) return comparison;
  const other = compareWords([...initial, ...expected.words], [...heldInitial, ...held.words], isCompany);
  return other.grade === 'different' ? comparison : { ...other, grade: 'close' };
}

const initialOf = ({ titles }: Name): readonly string[] => titles.found.filter((title) => title.length === 1).slice(-1);

/** Weighs what stands around the words: form, branch, titles, degrees. */
function withSurroundings(judgement: Assessment, expected: Name, held: Name): Assessment {
  if (judgement.grade === 'not possible') return judgement;
  const reasons = new Set(judgement.reasons);
  let { grade } = judgement;
  const worsen = (to: Grade, reason: NameMatchReason) => {
    reasons.add(reason);
    if (grade === 'same' || to === 'different') grade = to;
  };
  if (expected.company !== null || held.company !== null) compareCompanyParts(expected, held, reasons, worsen);
  else comparePersonParts(expected, held, reasons, worsen);
  if (reasons.size > 1) reasons.delete('EXACT');
  return { grade, share: judgement.share, reasons: [...reasons] };
}

type Downgrade = (to: Grade, reason: NameMatchReason) => void;

function compareCompanyParts(expected: Name, held: Name, reasons: Set<NameMatchReason>, worsen: Downgrade): void {
  const [form, heldForm] = [expected.company?.form ?? null, held.company?.form ?? null];
  if (form !== heldForm) {
    if (form === null || heldForm === null) worsen('close', 'COMPANY_FORM_MISSING');
    else worsen('different', 'COMPANY_FORM_DIFFERS');
  } else if (form !== null && expected.company?.formText !== held.company?.formText)
    reasons.add('COMPANY_FORM_IGNORED');
  if ((expected.company?.expanded ?? false) !== (held.company?.expanded ?? false)) reasons.add('ABBREVIATED');
  const [branch, heldBranch] = [expected.company?.branch ?? [], held.company?.branch ?? []];
  if (branch.join(' ') !== heldBranch.join(' ')) {
    worsen(branch.length > 0 && heldBranch.length > 0 ? 'different' : 'close', 'BRANCH_DIFFERS');
  }
}

function comparePersonParts(expected: Name, held: Name, reasons: Set<NameMatchReason>, worsen: Downgrade): void {
  const [titles, heldTitles] = [expected.titles, held.titles];
  if (titles.gender !== null && heldTitles.gender !== null && titles.gender !== heldTitles.gender) {
    worsen('close', 'TITLE_DIFFERS');
  } else if (titles.found.join(' ') !== heldTitles.found.join(' ')) reasons.add('TITLE_IGNORED');
  const [degrees, heldDegrees] = [expected.degrees.join(' '), held.degrees.join(' ')];
  if (degrees === heldDegrees) return;
  // With a single word left, Tan Ba and Tan Se may be names: what was taken for degrees has to agree.
  if (expected.words.length === 1 && degrees !== '' && heldDegrees !== '') worsen('close', 'TITLE_DIFFERS');
  else reasons.add('DEGREE_IGNORED');
}
