import { DatabaseUnavailable } from '../postgres/database.ts';
import type { AppliedUpdate, ReceivedUpdate } from './received-update.ts';

type Apply = (words: readonly ReceivedUpdate[]) => Promise<AppliedUpdate[]>;

interface Waiting {
  readonly words: readonly ReceivedUpdate[];
  readonly resolve: (applied: AppliedUpdate[]) => void;
  readonly reject: (error: unknown) => void;
}

const WORDS_MAX = 500;
/** Larger ones are a batch of their own. */
const SMALL_WORDS = 100;
/** While one waits for somebody's lock, others need not. */
const BATCHES_MAX = 2;

/**
 * Applies what comes in small portions at the same time in one database transaction: a core that feeds each change by
 * itself then costs about as much as one that gathers them, and holds no connection for each. Each caller gets his own
 * part of the result. What fails for another's words is applied again alone.
 */
export function createUpdateBatcher(apply: Apply): Apply {
  const waiting: Waiting[] = [];
  let batches = 0;

  function take(): Waiting[] {
    const taken: Waiting[] = [];
    let words = 0;
    for (let next = waiting[0]; next !== undefined && words + next.words.length <= WORDS_MAX; next = waiting[0]) {
      words += next.words.length;
      taken.push(next);
      waiting.shift();
    }
    return taken;
  }

  async function drain(): Promise<void> {
    batches += 1;
    while (waiting.length > 0) await applyAll(take());
    batches -= 1;
  }

  async function applyAll(taken: readonly Waiting[]): Promise<void> {
    try {
      const applied = await apply(taken.flatMap(({ words }) => words));
      let from = 0;
      for (const { words, resolve } of taken) resolve(applied.slice(from, (from += words.length)));
    } catch (error) {
      if (error instanceof DatabaseUnavailable || taken.length === 1) for (const { reject } of taken) reject(error);
      else for (const each of taken) await apply(each.words).then(each.resolve, each.reject);
    }
  }

  return (words) => {
    if (words.length > SMALL_WORDS) return apply(words);
    return new Promise((resolve, reject) => {
      waiting.push({ words, resolve, reject });
      // In the next turn of the event loop, with what else comes in this one.
      if (batches < BATCHES_MAX && waiting.length === 1) setImmediate(() => void drain());
    });
  };
}
