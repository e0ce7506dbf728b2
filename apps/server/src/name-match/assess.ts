import { type Comparison, compareWords, type Grade } from './compare.ts';
import { findCutOff } from './cut-off.ts';
import { compareMasked, isMasked } from './masks.ts';
import type { Name } from './read-name.ts';
import type { NameMatchReason } from './reasons.ts';
import { isLatin, shownLength } from './words.ts';

/** The result of comparing two names of one party each. */
export interface Assessment {
  readonly grade: Grade | 'not possible';
  readonly share: number;
  readonly reasons: readonly NameMatchReason[];
}

/** The whole names as they were given, from which a truncation is recognized. */
export interface FullNames {
  readonly expected: string;
  readonly held: string;
}

const notPossible = (...reasons: NameMatchReason[]): Assessment => ({ grade: 'not possible', share: 0, reasons });

export function assess(expected: Name, held: Name, fullNames: FullNames | null): Assessment {
  if (expected.words.length === 0 || held.words.length === 0) return notPossible('EMPTY');
  if (expected.words.every(isLatin) !== held.words.every(isLatin)) return notPossible('OTHER_SCRIPT');
  const masked = [isMasked(expected.words), isMasked(held.words)];
  if (masked.includes(true)) {
    if (!masked.includes(false)) return notPossible('MASKED');
    const assessment = masked[1] ? assessMasked(expected, held) : assessMasked(held, expected);
    return withOtherParts(assessment, expected, held);
  }
  if (isInitialsOnly(expected) || isInitialsOnly(held)) return notPossible('TOO_SHORT');
  return withOtherParts(assessWords(expected, held, fullNames), expected, held);
}

const isInitialsOnly = (name: Name): boolean => name.company === null && name.words.every((word) => word.length === 1);

function assessMasked(plain: Name, masked: Name): Assessment {
  const comparison = compareMasked(plain.words, masked.words);
  if (comparison.fits === 'too few visible') return notPossible('MASKED', 'TOO_SHORT');
  const share = comparison.visibleShare;
  if (comparison.fits === 'no') return { grade: 'different', share: share / 2, reasons: ['MASKED', 'DIFFERENT_WORD'] };
  return { grade: 'close', share, reasons: ['MASKED'] };
}

function assessWords(expected: Name, held: Name, fullNames: FullNames | null): Assessment {
  const isCompany = expected.company !== null || held.company !== null;
  const comparison = compareWithInitials(expected, held, isCompany);
  if (comparison.grade === 'same') return comparison;
  if (fullNames === null) return comparison;
  const heldName = { words: held.words, length: shownLength(fullNames.held), isCompany };
  const cutHeld = findCutOff(expected.words, heldName);
  if (cutHeld !== null) return { grade: cutHeld === 'certain' ? 'same' : 'close', share: 0.95, reasons: ['CUT_OFF'] };
  // The client's own system may truncate names, at an unknown length.
  const expectedName = { words: expected.words, length: shownLength(fullNames.expected), isCompany };
  const isCutExpected = findCutOff(held.words, expectedName) !== null;
  return isCutExpected ? { grade: 'close', share: 0.85, reasons: ['CUT_OFF'] } : comparison;
}

/** The H of `H. Gunawan` is read as Haji, unless the other name shows that it is an initial, such as that of Hendra. */
function compareWithInitials(expected: Name, held: Name, isCompany: boolean): Comparison {
  const comparison = compareWords(expected.words, held.words, isCompany);
  const [initial, heldInitial] = [initialOf(expected), initialOf(held)];
  if (comparison.grade !== 'different' || (initial.length === 0 && heldInitial.length === 0)) return comparison;
  const other = compareWords([...initial, ...expected.words], [...heldInitial, ...held.words], isCompany);
  return other.grade === 'different' ? comparison : { ...other, grade: 'close' };
}

const initialOf = ({ titles }: Name): readonly string[] => titles.found.filter((title) => title.length === 1).slice(-1);

/** Also compares the parts around the name itself: company form, branch, titles, degrees. */
function withOtherParts(assessment: Assessment, expected: Name, held: Name): Assessment {
  if (assessment.grade === 'not possible') return assessment;
  const reasons = new Set(assessment.reasons);
  let { grade } = assessment;
  const downgrade = (to: Grade, reason: NameMatchReason) => {
    reasons.add(reason);
    if (grade === 'same' || to === 'different') grade = to;
  };
  if (expected.company !== null || held.company !== null) compareCompanyParts(expected, held, reasons, downgrade);
  else comparePersonParts(expected, held, reasons, downgrade);
  if (reasons.size > 1) reasons.delete('EXACT');
  return { grade, share: assessment.share, reasons: [...reasons] };
}

type Downgrade = (to: Grade, reason: NameMatchReason) => void;

function compareCompanyParts(expected: Name, held: Name, reasons: Set<NameMatchReason>, downgrade: Downgrade): void {
  const [form, heldForm] = [expected.company?.form ?? null, held.company?.form ?? null];
  if (form !== heldForm) {
    if (form === null || heldForm === null) downgrade('close', 'COMPANY_FORM_MISSING');
    else downgrade('different', 'COMPANY_FORM_DIFFERS');
  } else if (form !== null && expected.company?.formText !== held.company?.formText)
    reasons.add('COMPANY_FORM_IGNORED');
  if ((expected.company?.expanded ?? false) !== (held.company?.expanded ?? false)) reasons.add('ABBREVIATED');
  const [branch, heldBranch] = [expected.company?.branch ?? [], held.company?.branch ?? []];
  if (branch.join(' ') !== heldBranch.join(' ')) {
    downgrade(branch.length > 0 && heldBranch.length > 0 ? 'different' : 'close', 'BRANCH_DIFFERS');
  }
}

function comparePersonParts(expected: Name, held: Name, reasons: Set<NameMatchReason>, downgrade: Downgrade): void {
  const [titles, heldTitles] = [expected.titles, held.titles];
  if (titles.gender !== null && heldTitles.gender !== null && titles.gender !== heldTitles.gender) {
    downgrade('close', 'TITLE_DIFFERS');
  } else if (titles.found.join(' ') !== heldTitles.found.join(' ')) reasons.add('TITLE_IGNORED');
  const [degrees, heldDegrees] = [expected.degrees.join(' '), held.degrees.join(' ')];
  if (degrees === heldDegrees) return;
  // With a single word left, Tan Ba and Tan Se may be names: the words that were read as degrees have to agree.
  if (expected.words.length === 1 && degrees !== '' && heldDegrees !== '') downgrade('close', 'TITLE_DIFFERS');
  else reasons.add('DEGREE_IGNORED');
}
