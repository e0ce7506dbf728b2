import type { Pair } from './pairs.ts';

/** The quality of a matcher on a set of pairs. */
export interface Figures {
  /** The share of same holders among the pairs that it matches; 1 if it matches none. */
  readonly precision: number;
  /** The share of the same holders that it matches; 1 if there are none. */
  readonly recall: number;
  /** The share of the different holders that it matches. */
  readonly falsePositiveRate: number;
  /** The harmonic mean of precision and recall. */
  readonly f1: number;
}

export function figuresOf(pairs: readonly Pair[], isMatch: (index: number) => boolean): Figures {
  let [truePositives, falsePositives, same] = [0, 0, 0];
  for (const [index, pair] of pairs.entries()) {
    if (pair.isSame) same++;
    if (!isMatch(index)) continue;
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

/** The similarities from which a peer counts as a match, each the best for one purpose. */
export interface Thresholds {
  readonly bestF1: number;
  /** The largest difference of recall and false-positive rate. Independent of how many pairs are different. */
  readonly balanced: number;
  /** The most recall among those that reach the precision; null if none reaches it with any recall. */
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
  const best = (score: (figures: Figures) => number) =>
    candidates.toSorted((one, other) => score(other.figures) - score(one.figures))[0];
  const precise = best(({ precision, recall }) => (precision >= precisionMin ? recall : 0));
  return {
    bestF1: best(({ f1 }) => f1)?.threshold ?? 1,
    balanced: best(({ recall, falsePositiveRate }) => recall - falsePositiveRate)?.threshold ?? 1,
    precise: precise === undefined || precise.figures.precision < precisionMin ? null : precise.threshold,
  };
}
