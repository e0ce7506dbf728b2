import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BankDirectory } from '../../domain/bank.ts';
import { matchHeldName, type NameMatch } from '../../name-match/name-match.ts';
import type { ValidationResult } from '../../postgres/account-validation-results.ts';
import { type ResultJson, resultToJson } from './result-json.ts';

/** Names can be written so that comparing two takes milliseconds: a page of them would hold everybody up for seconds. */
const AT_ONCE_MS = 5;

/** Some results as their client sees them. */
export type SerializeResults = (results: readonly ValidationResult[]) => Promise<readonly ResultJson[]>;

/** However many answers are under way, one turn of the event loop has a few milliseconds of one of them. */
export function createResultSerializer(banks: BankDirectory): SerializeResults {
  let lastTurn = Promise.resolve();

  function turn(): Promise<void> {
    lastTurn = lastTurn.then(() => nextTurn());
    return lastTurn;
  }

  return async (results) => {
    const match = createMatches();
    const views: ResultJson[] = [];
    let endMs = 0;
    for (const result of results) {
      if (performance.now() >= endMs) {
        await turn();
        endMs = performance.now() + AT_ONCE_MS;
      }
      views.push(resultToJson(result, banks, match));
    }
    return views;
  };
}

/** One account may be in a thousand rows. */
function createMatches(): (expected: string, held: string | null) => NameMatch {
  const known = new Map<string, NameMatch>();
  return (expected, held) => {
    // A name that was sent has no line breaks.
    const key = `${expected}\n${held ?? ''}`;
    const match = known.get(key) ?? matchHeldName(expected, held);
    known.set(key, match);
    return match;
  };
}
