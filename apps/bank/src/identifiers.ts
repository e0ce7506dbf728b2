import { randomInt } from 'node:crypto';
import { jakartaDay } from './time.ts';

/** Numbers of 22 digits: a random part drawn at start makes them unique across restarts, a counter within one run. */
export function createReferenceNumbers(): () => string {
  const run = String(randomInt(1_000_000_000, 10_000_000_000));
  let count = 0;
  return () => {
    count += 1;
    return run + String(count).padStart(12, '0');
  };
}

export interface DailyIds {
  /** True the first time that an id is used on a calendar day in Jakarta, false afterwards. */
  claim(id: string, nowMs: number): boolean;
}

// A generation is dropped when two newer ones have started: the bank keeps at least the latest million ids of a day,
// and memory stays bounded. Only a load test uses more in one day.
const IDS_PER_GENERATION = 1_000_000;

// A large Set blocks the event loop for 100 ms while it grows. A hundred small ones, chosen by the last two characters
// of the id, do not.
const SHARDS = 100;
const shardOf = (id: string): number =>
  ((id.charCodeAt(id.length - 2) || 0) * 10 + (id.charCodeAt(id.length - 1) || 0)) % SHARDS;

export function createDailyIds(idsPerGeneration = IDS_PER_GENERATION): DailyIds {
  let day = Number.NaN;
  let count = 0;
  let newer = createShards();
  let older = createShards();

  function startGeneration(previous: Set<string>[]): void {
    count = 0;
    older = previous;
    newer = createShards();
  }

  return {
    claim(id, nowMs) {
      const today = jakartaDay(nowMs);
      if (today !== day) {
        day = today;
        startGeneration(createShards());
      } else if (count >= idsPerGeneration) {
        startGeneration(newer);
      }
      const shard = shardOf(id);
      if (newer[shard]?.has(id) || older[shard]?.has(id)) return false;
      newer[shard]?.add(id);
      count += 1;
      return true;
    },
  };
}

function createShards(): Set<string>[] {
  return Array.from({ length: SHARDS }, () => new Set<string>());
}
