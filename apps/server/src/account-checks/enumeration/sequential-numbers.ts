/**
 * Who collects names goes through account numbers one after the other, so many that it asks about are among the same
 * thousand. Accounts that were opened together, for a payroll, are neighbours too, so it takes a crowd to tell.
 */
export interface SequentialNumbers {
  /** How many accounts have come in crowds up to this one; 0 when it is in none. Each account is asked about once. */
  asked(bic: string, accountNumber: string, nowMs: number): number;
  /** From here on, it begins anew. */
  forget(): void;
}

export const SEQUENTIAL_NUMBERS_BOUNDS = { slowFrom: 50, refuseFrom: 200 } as const;

/** Numbers of one bank that differ in no more than these last digits are one block. */
const BLOCK_DIGITS = 3;
/** From so many on, those of a block are a crowd. */
const CROWD = SEQUENTIAL_NUMBERS_BOUNDS.slowFrom;
/** A block, or a crowd, to which nothing was added for so long is over. */
const PAUSE_MS = 30 * 60_000;

/** So many blocks are remembered, in sets: a block has its place in one of them. */
const BLOCKS_MAX = 1_024;
const SET = 4;

/** Plain arrays that are made once: each check of an honest client begins a block. */
export function createSequentialNumbers(): SequentialNumbers {
  const tags = new Uint32Array(BLOCKS_MAX);
  const counts = new Uint16Array(BLOCKS_MAX);
  const askedMs = new Float64Array(BLOCKS_MAX);
  let crowded = 0;
  let crowdedMs = 0;

  /** Where the block is; if it is not there, the place of the one in its set that says least is made free for it. */
  function placeOf(tag: number, nowMs: number): number {
    const first = ((tag >>> 16) % (BLOCKS_MAX / SET)) * SET;
    let least = first;
    for (let place = first; place < first + SET; place += 1) {
      if (nowMs - (askedMs[place] as number) >= PAUSE_MS) counts[place] = 0;
      if (tags[place] === tag) return place;
      if ((counts[place] as number) < (counts[least] as number)) least = place;
    }
    tags[least] = tag;
    counts[least] = 0;
    return least;
  }

  return {
    asked(bic, accountNumber, nowMs) {
      const place = placeOf(tagOf(bic, accountNumber), nowMs);
      const count = (counts[place] as number) + 1;
      counts[place] = count;
      askedMs[place] = nowMs;
      if (count < CROWD) return 0;
      if (nowMs - crowdedMs >= PAUSE_MS) crowded = 0;
      crowdedMs = nowMs;
      crowded += count === CROWD ? CROWD : 1;
      return crowded;
    },
    forget() {
      counts.fill(0);
      crowded = 0;
    },
  };
}

/** Of a block: FNV-1a over its bank, the length of its numbers and how they begin. Of four thousand million, two may share one. */
function tagOf(bic: string, accountNumber: string): number {
  const { length } = accountNumber;
  const ofBank = mixIn(0x811c9dc5 ^ length, bic, bic.length);
  return mixIn(ofBank, accountNumber, length - BLOCK_DIGITS) >>> 0;
}

/** The text up to there, mixed into a hash. */
function mixIn(hash: number, text: string, end: number): number {
  let mixed = hash;
  for (let index = 0; index < end; index += 1) mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  return mixed;
}
