/** What a campaign has done so far, and what it has found. */
export interface CampaignRecord {
  readonly counts: ReadonlyMap<string, number>;
  readonly findings: readonly string[];
  count(name: string, by?: number): void;
  /** Keeps the largest value. */
  most(name: string, value: number): void;
  /** Something is wrong. `what` names the broken promise, `details` this case of it. */
  wrong(what: string, details: string): void;
}

/** Further cases of the same broken promise are counted. */
const CASES_MAX = 3;
const DETAILS_MAX = 1_500;

export function createRecord(): CampaignRecord {
  const counts = new Map<string, number>();
  const cases = new Map<string, { count: number; details: string[] }>();
  return {
    counts,
    get findings() {
      return [...cases].map(([what, { count, details }]) => `${what} (${count} cases): ${details.join('\n  ')}`);
    },
    count: (name, by = 1) => void counts.set(name, (counts.get(name) ?? 0) + by),
    most: (name, value) => void counts.set(name, Math.max(counts.get(name) ?? 0, value)),
    wrong(what, details) {
      const found = cases.get(what) ?? { count: 0, details: [] };
      cases.set(what, found);
      found.count += 1;
      if (found.details.length < CASES_MAX) found.details.push(details.slice(0, DETAILS_MAX));
    },
  };
}
