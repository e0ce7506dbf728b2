import { jakartaDay } from '../jakarta-time.ts';

export interface ExternalIds {
  /** True the first time that an id is used on a day in Jakarta, false afterwards. */
  claim(externalId: string, nowMs: number): boolean;
}

// A generation is forgotten when two younger ones have been begun: at least the latest million ids of a day are
// known, and memory has an end. Only a load test uses more in one day.
const IDS_PER_GENERATION = 1_000_000;

// A large Set stops everything for 100 ms while it grows; a hundred small ones, chosen by the last two digits, do not.
const SHARDS = 100;

export function createExternalIds(idsPerGeneration = IDS_PER_GENERATION): ExternalIds {
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
    claim(externalId, nowMs) {
      const today = jakartaDay(nowMs);
      if (today !== day) {
        day = today;
        startGeneration(createShards());
      } else if (count >= idsPerGeneration) {
        startGeneration(younger);
      }
      const shard = Number(externalId.slice(-2));
      if (younger[shard]?.has(externalId) || older[shard]?.has(externalId)) return false;
      younger[shard]?.add(externalId);
      count += 1;
      return true;
    },
  };
}

function createShards(): Set<string>[] {
  return Array.from({ length: SHARDS }, () => new Set<string>());
}
