import { jakartaDay } from '../jakarta-time.ts';

export interface MessageIds {
  /** True the first time that an id is used on a day in Jakarta, false afterwards. */
  claim(messageId: string, nowMs: number): boolean;
}

// Memory has an end: at least the latest of a day are known. Only a load test uses more.
const IDS_PER_GENERATION = 250_000;

export function createMessageIds(idsPerGeneration = IDS_PER_GENERATION): MessageIds {
  let day = Number.NaN;
  let younger = new Set<string>();
  let older = new Set<string>();
  return {
    claim(messageId, nowMs) {
      const today = jakartaDay(nowMs);
      if (today !== day || younger.size >= idsPerGeneration) {
        older = today === day ? younger : new Set();
        younger = new Set();
        day = today;
      }
      if (younger.has(messageId) || older.has(messageId)) return false;
      younger.add(messageId);
      return true;
    },
  };
}
