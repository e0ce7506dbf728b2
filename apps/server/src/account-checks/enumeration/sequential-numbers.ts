import type { Thresholds } from './restrictions.ts';

/**
 * Detects a client that walks through account numbers: many of the numbers that it checks lie within the same thousand.
 * Accounts that were opened together, for a payroll, also have sequential numbers, so neither a few of them nor one
 * block of them is a signal. Two figures tell them apart: `inRuns` is about numbers that come close together in time,
 * `inClusters` about many small groups of them over the day.
 */
export interface SequentialNumbers {
  /** Records a check of an account and updates both figures. Call it once for each account and day. */
  recordCheck(bic: string, accountNumber: string, nowMs: number): void;
  /** The same, for a block that is known by its tag. */
  recordBlock(tag: number, nowMs: number): void;
  /** How many accounts have come in runs, up to the last check; 0 when that account is in no run. */
  inRuns(): number;
  /**
   * How many accounts of today are in clusters, up to the last check; 0 when that account is in no cluster. A cluster
   * counts with at most 50, so that one payroll is no signal: a larger one is a run.
   */
  inClusters(): number;
  /** Starts to count the runs again from zero. */
  resetRuns(): void;
  /** Starts to count the clusters of a new day. */
  startDay(): void;
}

export const SEQUENTIAL_NUMBERS_THRESHOLDS: Thresholds = { slowFrom: 50, blockFrom: 200 };
/** As much as six payrolls of fifty or more in one day, or thirty groups of ten. */
export const CLUSTERED_NUMBERS_THRESHOLDS: Thresholds = { slowFrom: 150, blockFrom: 300 };

/**
 * Numbers of one bank and one length that differ only in these last digits are one block. So are e-mail addresses that
 * differ only in as many digits before the `@`.
 */
const BLOCK_DIGITS = 3;
/** A block with this many accounts is a run. */
const RUN_MIN = SEQUENTIAL_NUMBERS_THRESHOLDS.slowFrom;
/** A block, or the count of the runs, to which nothing was added for this long starts again from zero. */
const PAUSE_MS = 30 * 60_000;
/**
 * A block with this many accounts of one day is a cluster. Of 100,000 random accounts at a bank with 100,000 blocks,
 * one for each block on average, ten fall into one block with a probability of 1 in 100 a day.
 */
const CLUSTER_MIN = 10;
const CLUSTER_ACCOUNTS_MAX = RUN_MIN;

/**
 * The table remembers this many blocks, in 60 KiB for each client. It is set-associative: a block may occupy any slot
 * of one set.
 */
const SLOTS = 4_096;
const SLOTS_PER_SET = 4;

/** Typed arrays that are allocated once, because each check of a legitimate client starts a new block. */
export function createSequentialNumbers(): SequentialNumbers {
  const tags = new Uint32Array(SLOTS);
  /** The accounts of each block without a pause. */
  const counts = new Uint16Array(SLOTS);
  const lastMs = new Float64Array(SLOTS);
  /** The accounts of each block today, up to `CLUSTER_ACCOUNTS_MAX`. */
  const todayCounts = new Uint8Array(SLOTS);
  let runs = 0;
  let runsMs = 0;
  let isInRun = false;
  let clustered = 0;
  let isInCluster = false;

  /** The slot of the block. A new block evicts the block of its set that has the fewest accounts today. */
  function slotOf(tag: number): number {
    const first = ((tag >>> 16) % (SLOTS / SLOTS_PER_SET)) * SLOTS_PER_SET;
    let least = first;
    for (let slot = first; slot < first + SLOTS_PER_SET; slot += 1) {
      if (tags[slot] === tag) return slot;
      if ((todayCounts[slot] as number) < (todayCounts[least] as number)) least = slot;
    }
    tags[least] = tag;
    counts[least] = 0;
    todayCounts[least] = 0;
    return least;
  }

  function countRun(slot: number, nowMs: number): void {
    const count = nowMs - (lastMs[slot] as number) >= PAUSE_MS ? 1 : (counts[slot] as number) + 1;
    counts[slot] = count;
    lastMs[slot] = nowMs;
    isInRun = count >= RUN_MIN;
    if (!isInRun) return;
    if (nowMs - runsMs >= PAUSE_MS) runs = 0;
    runsMs = nowMs;
    runs += count === RUN_MIN ? RUN_MIN : 1;
  }

  function countCluster(slot: number): void {
    const before = todayCounts[slot] as number;
    isInCluster = before + 1 >= CLUSTER_MIN;
    if (before === CLUSTER_ACCOUNTS_MAX) return;
    todayCounts[slot] = before + 1;
    if (isInCluster) clustered += before + 1 === CLUSTER_MIN ? CLUSTER_MIN : 1;
  }

  function recordBlock(tag: number, nowMs: number): void {
    const slot = slotOf(tag);
    countRun(slot, nowMs);
    countCluster(slot);
  }

  return {
    recordBlock,
    recordCheck: (bic, accountNumber, nowMs) => recordBlock(blockTag(bic, accountNumber), nowMs),
    inRuns: () => (isInRun ? runs : 0),
    inClusters: () => (isInCluster ? clustered : 0),
    resetRuns() {
      counts.fill(0);
      runs = 0;
    },
    startDay() {
      todayCounts.fill(0);
      clustered = 0;
    },
  };
}

/** What all numbers, or all e-mail addresses, of a block share. */
export function sharedPart(accountNumber: string): string {
  const at = accountNumber.indexOf('@');
  return at === -1
    ? accountNumber.slice(0, -BLOCK_DIGITS)
    : accountNumber.slice(0, digitsBefore(at, accountNumber)) + accountNumber.slice(at);
}

/** FNV-1a over the bank, the length of the number and what its block shares. Two blocks may share one of 2^32 tags. */
export function blockTag(bic: string, accountNumber: string): number {
  const { length } = accountNumber;
  const ofBank = mixIn(0x811c9dc5 ^ length, bic, 0, bic.length);
  const at = accountNumber.indexOf('@');
  if (at === -1) return mixIn(ofBank, accountNumber, 0, length - BLOCK_DIGITS) >>> 0;
  const start = mixIn(ofBank, accountNumber, 0, digitsBefore(at, accountNumber));
  return mixIn(start, accountNumber, at, length) >>> 0;
}

/** Where the digits before the `@` begin, of which a block counts at most `BLOCK_DIGITS`. */
function digitsBefore(at: number, address: string): number {
  let start = at;
  while (at - start < BLOCK_DIGITS && isDigit(address.charCodeAt(start - 1))) start -= 1;
  return start;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** Mixes the characters from `start` to before `end` into the hash. */
function mixIn(hash: number, text: string, start: number, end: number): number {
  let mixed = hash;
  for (let index = start; index < end; index += 1) mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  return mixed;
}
