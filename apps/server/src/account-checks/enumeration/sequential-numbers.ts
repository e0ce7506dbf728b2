import type { Thresholds } from './restrictions.ts';

/**
 * Detects a client that walks through account numbers: many of the numbers that it checks lie within the same thousand.
 * Accounts that were opened together, for a payroll, also have sequential numbers, so only a run of them is a signal.
 */
export interface SequentialNumbers {
  /**
   * Returns how many accounts have come in runs of sequential numbers up to this one; 0 when this one is in no run.
   * Call it once for each account.
   */
  recordCheck(bic: string, accountNumber: string, nowMs: number): number;
  /** Starts to count again from zero. */
  reset(): void;
}

export const SEQUENTIAL_NUMBERS_THRESHOLDS: Thresholds = { slowFrom: 50, blockFrom: 200 };

/** Numbers of one bank and one length that differ only in these last digits are one block. */
const BLOCK_DIGITS = 3;
/** A block with this many accounts is a run. */
const RUN_MIN = SEQUENTIAL_NUMBERS_THRESHOLDS.slowFrom;
/** A block, or the count of the runs, to which nothing was added for this long starts again from zero. */
const PAUSE_MS = 30 * 60_000;

/** The table remembers this many blocks. It is set-associative: a block may occupy any slot of one set. */
const SLOTS = 1_024;
const SLOTS_PER_SET = 4;

/** Typed arrays that are allocated once, because each check of a legitimate client starts a new block. */
export function createSequentialNumbers(): SequentialNumbers {
  const tags = new Uint32Array(SLOTS);
  const counts = new Uint16Array(SLOTS);
  const lastMs = new Float64Array(SLOTS);
  let inRuns = 0;
  let inRunsMs = 0;

  /** The slot of the block. A new block evicts the block of its set that has the fewest accounts. */
  function slotOf(tag: number, nowMs: number): number {
    const first = ((tag >>> 16) % (SLOTS / SLOTS_PER_SET)) * SLOTS_PER_SET;
    let least = first;
    for (let slot = first; slot < first + SLOTS_PER_SET; slot += 1) {
      if (nowMs - (lastMs[slot] as number) >= PAUSE_MS) counts[slot] = 0;
      if (tags[slot] === tag) return slot;
      if ((counts[slot] as number) < (counts[least] as number)) least = slot;
    }
    tags[least] = tag;
    counts[least] = 0;
    return least;
  }

  return {
    recordCheck(bic, accountNumber, nowMs) {
      const slot = slotOf(blockTag(bic, accountNumber), nowMs);
      const count = (counts[slot] as number) + 1;
      counts[slot] = count;
      lastMs[slot] = nowMs;
      if (count < RUN_MIN) return 0;
      if (nowMs - inRunsMs >= PAUSE_MS) inRuns = 0;
      inRunsMs = nowMs;
      inRuns += count === RUN_MIN ? RUN_MIN : 1;
      return inRuns;
    },
    reset() {
      counts.fill(0);
      inRuns = 0;
    },
  };
}

/** FNV-1a over the bank, the length of the number and its leading digits. Two blocks may share one of the 2^32 tags. */
function blockTag(bic: string, accountNumber: string): number {
  const { length } = accountNumber;
  const ofBank = mixIn(0x811c9dc5 ^ length, bic, bic.length);
  return mixIn(ofBank, accountNumber, length - BLOCK_DIGITS) >>> 0;
}

/** Mixes the first `end` characters of the text into the hash. */
function mixIn(hash: number, text: string, end: number): number {
  let mixed = hash;
  for (let index = 0; index < end; index += 1) mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  return mixed;
}
