import { type Assessment, assess } from './assess.ts';
import { type Name, readName } from './read-name.ts';
import type { NameMatchReason } from './reasons.ts';
import { NAME_LENGTH_MAX } from './words.ts';

/**
 * - `MATCH`: the names belong to the same person or company.
 * - `CLOSE_MATCH`: they may belong to the same person or company; a person should compare them.
 * - `NO_MATCH`: they belong to different persons or companies.
 * - `NOT_POSSIBLE`: the names cannot be compared, because too little of a name is present or visible.
 */
export const NAME_MATCH_RESULTS = ['MATCH', 'CLOSE_MATCH', 'NO_MATCH', 'NOT_POSSIBLE'] as const;
export type NameMatchResult = (typeof NAME_MATCH_RESULTS)[number];

export interface NameMatch {
  readonly result: NameMatchResult;
  /** 0 to 1 with two decimals: MATCH from 0.90, CLOSE_MATCH from 0.70, NO_MATCH below; 0 for NOT_POSSIBLE. */
  readonly score: number;
  readonly reasons: readonly NameMatchReason[];
}

const GRADES = ['different', 'close', 'same'] as const;

/** Compares the name that a client expects with the name at the bank. Accepts any text and reads 140 characters. */
export function matchNames(expected: string, held: string): NameMatch {
  const left = readName(expected);
  const right = readName(held);
  let assessment = assess(left.whole, right.whole, { expected, held });
  if (expected === held) return toNameMatch(assessment);
  if (assessment.grade !== 'same' && left.parties.length + right.parties.length > 0) {
    assessment = assessParties(assessment, partiesOf(left.parties, left.whole), partiesOf(right.parties, right.whole));
  }
  // BUDI QQ RINA is not BUDI RINA.
  if (assessment.grade === 'same' && left.parties.length !== right.parties.length)
    assessment = downgrade(assessment, 'JOINT_ACCOUNT');
  if (left.isDeceased !== right.isDeceased) assessment = downgrade(assessment, 'DECEASED');
  if (Math.max(expected.length, held.length) > NAME_LENGTH_MAX) assessment = downgrade(assessment, 'TOO_LONG');
  return toNameMatch(assessment);
}

const NO_NAME: NameMatch = { result: 'NOT_POSSIBLE', score: 0, reasons: ['NO_NAME'] };

/** `held` is null if the bank returns no name: it returns one for active accounts only. */
export const matchHeldName = (expected: string, held: string | null): NameMatch =>
  held === null ? NO_NAME : matchNames(expected, held);

const partiesOf = (parties: readonly Name[], whole: Name): readonly Name[] => (parties.length > 0 ? parties : [whole]);

/** If one party matches, a person should compare the names: the other party may have access to the account as well. */
function assessParties(whole: Assessment, left: readonly Name[], right: readonly Name[]): Assessment {
  let best: Assessment | null = null;
  for (const one of left) {
    for (const other of right) {
      const assessment = assess(one, other, null);
      const isBetter = best === null || rankOf(assessment) > rankOf(best);
      if (isBetter) best = assessment;
    }
  }
  if (best === null || rankOf(best) <= rankOf(whole)) return whole;
  return downgrade(best, 'JOINT_ACCOUNT');
}

const rankOf = (assessment: Assessment): number =>
  assessment.grade === 'not possible' ? -1 : GRADES.indexOf(assessment.grade);

function downgrade(assessment: Assessment, reason: NameMatchReason): Assessment {
  if (assessment.grade === 'not possible') return assessment;
  const reasons = [...assessment.reasons.filter((known) => known !== 'EXACT' && known !== reason), reason];
  return { ...assessment, grade: assessment.grade === 'same' ? 'close' : assessment.grade, reasons };
}

function toNameMatch({ grade, share, reasons }: Assessment): NameMatch {
  switch (grade) {
    case 'same':
      return { result: 'MATCH', score: clampScore(share, 0.9, 1), reasons };
    case 'close':
      return { result: 'CLOSE_MATCH', score: clampScore(share, 0.7, 0.89), reasons };
    case 'different':
      return { result: 'NO_MATCH', score: clampScore(share, 0, 0.69), reasons };
    case 'not possible':
      return { result: 'NOT_POSSIBLE', score: 0, reasons };
  }
}

const clampScore = (share: number, least: number, most: number): number =>
  Math.round(Math.min(most, Math.max(least, share)) * 100) / 100;
