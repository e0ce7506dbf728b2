import { type Assessment, assess } from './assess.ts';
import { type Name, readName } from './read-name.ts';
import type { NameMatchReason } from './reasons.ts';
import { NAME_LENGTH_MAX } from './words.ts';

/**
 * - `MATCH`: the names are the same person's or company's; pay with confidence.
 * - `CLOSE_MATCH`: they may be; a person should look.
 * - `NO_MATCH`: they are different people's or companies'.
 * - `NOT_POSSIBLE`: nothing can be said, since too little of a name is there or to be seen.
 */
export const NAME_MATCH_RESULTS = ['MATCH', 'CLOSE_MATCH', 'NO_MATCH', 'NOT_POSSIBLE'] as const;
export type NameMatchResult = (typeof NAME_MATCH_RESULTS)[number];

export interface NameMatch {
  readonly result: NameMatchResult;
  /** 0 to 1 in two decimals: MATCH from 0.90, CLOSE_MATCH from 0.70, NO_MATCH below; 0 for NOT_POSSIBLE. */
  readonly score: number;
  readonly reasons: readonly NameMatchReason[];
}

const GRADES = ['different', 'close', 'same'] as const;

/** Compares the name that a client expects with the name that a bank holds. Any text is taken; 140 characters are read. */
export function matchNames(expected: string, held: string): NameMatch {
  const left = readName(expected);
  const right = readName(held);
  let judgement = assess(left.whole, right.whole, { expected, held });
  if (expected === held) return toNameMatch(judgement);
  if (judgement.grade !== 'same' && left.parties.length + right.parties.length > 0) {
    judgement = assessParties(judgement, partiesOf(left.parties, left.whole), partiesOf(right.parties, right.whole));
  }
  // BUDI QQ RINA is not BUDI RINA.
  if (judgement.grade === 'same' && left.parties.length !== right.parties.length)
    judgement = downgrade(judgement, 'JOINT_ACCOUNT');
  if (left.isDeceased !== right.isDeceased) judgement = downgrade(judgement, 'DECEASED');
  if (Math.max(expected.length, held.length) > NAME_LENGTH_MAX) judgement = downgrade(judgement, 'TOO_LONG');
  return toNameMatch(judgement);
}

const NO_NAME: NameMatch = { result: 'NOT_POSSIBLE', score: 0, reasons: ['NO_NAME'] };

/** `held` is null where the bank tells none: it does so of active accounts only. */
export const matchHeldName = (expected: string, held: string | null): NameMatch =>
  held === null ? NO_NAME : matchNames(expected, held);

const partiesOf = (parties: readonly Name[], whole: Name): readonly Name[] => (parties.length > 0 ? parties : [whole]);

/** One party that is the same is worth a look, since the other may dispose of the account as well. */
function assessParties(whole: Assessment, left: readonly Name[], right: readonly Name[]): Assessment {
  let best: Assessment | null = null;
  for (const one of left) {
    for (const other of right) {
      const judgement = assess(one, other, null);
      const isBetter = best === null || rankOf(judgement) > rankOf(best);
      if (isBetter) best = judgement;
    }
  }
  if (best === null || rankOf(best) <= rankOf(whole)) return whole;
  return downgrade(best, 'JOINT_ACCOUNT');
}

const rankOf = (judgement: Assessment): number =>
  judgement.grade === 'not possible' ? -1 : GRADES.indexOf(judgement.grade);

function downgrade(judgement: Assessment, reason: NameMatchReason): Assessment {
  if (judgement.grade === 'not possible') return judgement;
  const reasons = [...judgement.reasons.filter((known) => known !== 'EXACT' && known !== reason), reason];
  return { ...judgement, grade: judgement.grade === 'same' ? 'close' : judgement.grade, reasons };
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
