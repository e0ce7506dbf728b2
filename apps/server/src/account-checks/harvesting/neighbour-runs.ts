/**
 * Who collects names goes through account numbers one after the other. Accounts that were opened together, for a payroll, are
 * neighbours too, so it takes a long run to tell.
 */
export interface NeighbourRuns {
  /** How many accounts the run has that this one belongs to, itself included. Each account is asked about once. */
  asked(bic: string, accountNumber: string, nowMs: number): number;
  /** From here on, it begins anew. */
  forget(): void;
}

export const NEIGHBOUR_BOUNDS = { slowFrom: 50, refuseFrom: 200 } as const;

/** Where the last digit is a check digit, neighbours are ten and more apart. */
const DISTANCE_MAX = 20;
/** More than these would have to be gone through at every check. */
const RUNS_MAX = 48;
/** A run that was not continued for so long is over. */
const PAUSE_MS = 30 * 60_000;
/** What a number holds exactly. */
const DIGITS_MAX = 15;

/** Numbers of one bank, of the same length, that begin alike where they are longer than `DIGITS_MAX`. */
interface Run {
  bic: string;
  digits: number;
  beginning: string;
  low: number;
  high: number;
  count: number;
  askedMs: number;
}

export function createNeighbourRuns(): NeighbourRuns {
  let runs = noRuns();
  let next = 0;

  /** To become a new one: a run that is over or still of one account, in turn. Longer ones stay while they can. */
  function free(nowMs: number): Run {
    let run = runs[next] as Run;
    for (let tried = 0; tried < RUNS_MAX; tried += 1) {
      next = (next + 1) % RUNS_MAX;
      run = runs[next] as Run;
      if (run.count === 1 || isOver(run, nowMs)) break;
    }
    return run;
  }

  return {
    forget: () => void (runs = noRuns()),
    asked(bic, accountNumber, nowMs) {
      const digits = accountNumber.length;
      const beginning = digits > DIGITS_MAX ? accountNumber.slice(0, -DIGITS_MAX) : '';
      const number = Number(digits > DIGITS_MAX ? accountNumber.slice(-DIGITS_MAX) : accountNumber);
      let joined: Run | null = null;
      for (const run of runs) {
        if (number < run.low - DISTANCE_MAX || number > run.high + DISTANCE_MAX) continue;
        if (run.bic !== bic || run.digits !== digits || run.beginning !== beginning || isOver(run, nowMs)) continue;
        if (joined === null) joined = run;
        else swallow(joined, run);
      }
      if (joined === null) {
        joined = free(nowMs);
        joined.bic = bic;
        joined.digits = digits;
        joined.beginning = beginning;
        joined.low = number;
        joined.high = number;
        joined.count = 0;
      }
      joined.low = Math.min(joined.low, number);
      joined.high = Math.max(joined.high, number);
      joined.count += 1;
      joined.askedMs = nowMs;
      return joined.count;
    },
  };
}

/** They are made once and used again: each check of an honest client begins one. */
const noRuns = (): Run[] =>
  Array.from({ length: RUNS_MAX }, () => ({
    bic: '',
    digits: 0,
    beginning: '',
    low: Number.POSITIVE_INFINITY,
    high: Number.POSITIVE_INFINITY,
    count: 0,
    askedMs: Number.NEGATIVE_INFINITY,
  }));

const isOver = (run: Run, nowMs: number): boolean => nowMs - run.askedMs >= PAUSE_MS;

/** The account that is asked about closes the gap between the two. */
function swallow(run: Run, other: Run): void {
  run.low = Math.min(run.low, other.low);
  run.high = Math.max(run.high, other.high);
  run.count += other.count;
  other.askedMs = Number.NEGATIVE_INFINITY;
}
