import { randomInt } from 'node:crypto';
import { jakartaDay } from './time.ts';

/** Numbers of 22 digits: a part drawn at start keeps them unique across restarts, a counter within one run. */
export function createReferenceNumbers(): () => string {
  const run = String(randomInt(1_000_000_000, 10_000_000_000));
  let count = 0;
  return () => {
    count += 1;
    return run + String(count).padStart(12, '0');
  };
}

export interface DailyIds {
  /** True the first time that an id is used on a day in Jakarta, false afterwards. */
  claim(id: string, nowMs: number): boolean;
}

// A generation is forgotten when two younger ones have been begun: at least the latest million ids of a day are
// known, and memory has an end. Only a load test uses more in one day.
const IDS_PER_GENERATION = 1_000_000;

// A large Set stops everything for 100 ms while it grows; a hundred small ones, chosen by the last two characters, do not.
const SHARDS = 100;
const shardOf = (id: string): number =>
  ((id.charCodeAt(id.length - 2) || 0) * 10 + (id.charCodeAt(id.length - 1) || 0)) % SHARDS;

export function createDailyIds(idsPerGeneration = IDS_PER_GENERATION): DailyIds {
  let day = Number.NaN;
  let count = 0;
  let younger = createShards();
  let older = createShards();

  function startGeneration(previous: Set<string>[]): void {
    count = 0;
    older = previous;
    younger = createShards();
  }

  return {
    claim(id, nowMs) {
      const today = jakartaDay(nowMs);
      if (today !== day) {
        day = today;
        startGeneration(createShards());
      } else if (count >= idsPerGeneration) {
        startGeneration(younger);
      }
      const shard = shardOf(id);
      if (younger[shard]?.has(id) || older[shard]?.has(id)) return false;
      younger[shard]?.add(id);
      count += 1;
      return true;
    },
  };
}

function createShards(): Set<string>[] {
  return Array.from({ length: SHARDS }, () => new Set<string>());
}
