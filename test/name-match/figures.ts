import type { Pair } from './pairs.ts';

/** What a way of comparing comes to on pairs, when it says yes to some of them. */
export interface Figures {
  /** Of what it takes for the same, how much is; 1 where it takes nothing. */
  readonly precision: number;
  /** Of what is the same, how much it takes for it; 1 where nothing is. */
  readonly recall: number;
  /** Of what is different, how much it takes for the same. */
  readonly falsePositiveRate: number;
  /** The harmonic mean of precision and recall. */
  readonly f1: number;
}

export function figuresOf(pairs: readonly Pair[], saysYes: (index: number) => boolean): Figures {
  let [truePositives, falsePositives, same] = [0, 0, 0];
  for (const [index, pair] of pairs.entries()) {
    if (pair.isSame) same++;
    if (!saysYes(index)) continue;
    if (pair.isSame) truePositives++;
    else falsePositives++;
  }
  const different = pairs.length - same;
  const precision = share(truePositives, truePositives + falsePositives, 1);
  const recall = share(truePositives, same, 1);
  return {
    precision,
    recall,
    falsePositiveRate: share(falsePositives, different, 0),
    f1: share(2 * precision * recall, precision + recall, 0),
  };
}

const share = (part: number, whole: number, otherwise: number): number => (whole === 0 ? otherwise : part / whole);

/** The similarities from which a peer says yes: each the best for some purpose. */
export interface Thresholds {
  readonly bestF1: number;
  /** With the greatest difference between recall and false positives: it does not depend on how many pairs are different. */
  readonly balanced: number;
  /** The one with the most recall of those that reach the precision; null where none does with any recall. */
  readonly precise: number | null;
}

export function chooseThresholds(
  pairs: readonly Pair[],
  similarities: readonly number[],
  precisionMin: number,
): Thresholds {
  const candidates = [...new Set(similarities)].map((threshold) => ({
    threshold,
    figures: figuresOf(pairs, (index) => (similarities[index] ?? 0) >= threshold),
  }));
  const best = (worth: (figures: Figures) => number) =>
    candidates.toSorted((one, other) => worth(other.figures) - worth(one.figures))[0];
  const precise = best(({ precision, recall }) => (precision >= precisionMin ? recall : 0));
  return {
    bestF1: best(({ f1 }) => f1)?.threshold ?? 1,
    balanced: best(({ recall, falsePositiveRate }) => recall - falsePositiveRate)?.threshold ?? 1,
    precise: precise === undefined || precise.figures.precision < precisionMin ? null : precise.threshold,
  };
}
