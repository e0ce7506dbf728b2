import { observe, type Transaction, type Word } from '../domain/transaction.ts';
import { type Database, DatabaseContended, type Query } from '../postgres/database.ts';
import { insertObservations, type Observation } from '../postgres/observations.ts';
import {
  advanceTransactions,
  findReferenceHolders,
  insertTransactions,
  lockTransactions,
} from '../postgres/transactions.ts';

/** A word with where it stood and how it was put. */
export interface FeedLine {
  /** From 1: the line of an NDJSON feed, the place in a JSON array. */
  readonly line: number;
  /** JSON text, as it came. */
  readonly said: string;
  readonly word: Word;
}

export interface Applied {
  readonly line: number;
  readonly transactionId: string;
  readonly outcome: 'inserted' | 'advanced' | 'unchanged' | 'conflict' | 'rejected';
  readonly reason: string | null;
}

/** Another feed may insert the same transactions at the same time; after it, they are simply known. */
const ATTEMPTS_MAX = 5;
const OVERTAKEN = 'another feed inserted one of these transactions meanwhile';

/**
 * Applies words in their order: new state, observations and all in one database transaction. Applying the same words
 * again changes nothing, so a caller that does not know whether it succeeded repeats it.
 * @throws DatabaseUnavailable when it is not known to have been stored.
 */
export async function applyWords(database: Database, source: string, lines: readonly FeedLine[]): Promise<Applied[]> {
  const now = new Date().toISOString();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.transaction(async (query) => {
        const draft = await decide(query, lines, now);
        if (!(await insertTransactions(query, draft.inserted))) throw new DatabaseContended(OVERTAKEN);
        await advanceTransactions(query, draft.advanced);
        await insertObservations(query, source, draft.observations);
        return draft.applied;
      });
    } catch (error) {
      if (!(error instanceof DatabaseContended) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

interface Draft {
  readonly applied: Applied[];
  readonly inserted: Transaction[];
  readonly advanced: Transaction[];
  readonly observations: Observation[];
}

async function decide(query: Query, lines: readonly FeedLine[], now: string): Promise<Draft> {
  const stored = new Map<string, Transaction>();
  const keys = new Map(lines.map(({ word }) => [keyOf(word.clientId, word.transactionId), word]));
  for (const transaction of await lockTransactions(query, [...keys.values()])) {
    stored.set(keyOf(transaction.clientId, transaction.transactionId), transaction);
  }
  const holders = await holdersOfNewReferences(query, lines, stored);

  const known = new Map(stored);
  const applied: Applied[] = [];
  const observations: Observation[] = [];
  for (const { line, said, word } of lines) {
    const { clientId, transactionId } = word;
    const key = keyOf(clientId, transactionId);
    const observed = observe(known.get(key) ?? null, word, now);
    let { outcome } = observed;
    let reason = 'reason' in observed ? observed.reason : null;
    let about = transactionId;

    if (observed.outcome === 'inserted') {
      const reference = keyOf(clientId, observed.transaction.referenceId);
      const holder = holders.get(reference);
      if (holder !== undefined && holder !== transactionId) {
        outcome = 'conflict';
        reason = `reference_id belongs to the transaction ${holder}`;
        about = holder;
      } else {
        holders.set(reference, transactionId);
      }
    }
    if ('transaction' in observed && outcome === observed.outcome) known.set(key, observed.transaction);
    applied.push({ line, transactionId, outcome, reason });
    // A word that makes no transaction has nothing that it could be kept with.
    if (outcome !== 'rejected') observations.push({ clientId, transactionId: about, said, outcome, reason });
  }

  const inserted: Transaction[] = [];
  const advanced: Transaction[] = [];
  for (const [key, transaction] of known) {
    const before = stored.get(key);
    if (before === undefined) inserted.push(transaction);
    else if (before !== transaction) advanced.push(transaction);
  }
  return { applied, inserted, advanced, observations };
}

/** Client and reference to the transaction that has it, for the references that this batch would be the first to use. */
async function holdersOfNewReferences(
  query: Query,
  lines: readonly FeedLine[],
  stored: ReadonlyMap<string, Transaction>,
): Promise<Map<string, string>> {
  const wanted = lines.flatMap(({ word: { clientId, transactionId, referenceId } }) =>
    referenceId === undefined || stored.has(keyOf(clientId, transactionId)) ? [] : [{ clientId, referenceId }],
  );
  if (wanted.length === 0) return new Map();
  const holders = await findReferenceHolders(query, wanted);
  return new Map(holders.map((each) => [keyOf(each.clientId, each.referenceId), each.transactionId]));
}

// Neither a client_id nor an identifier holds a control character.
const keyOf = (clientId: string, identifier: string): string => `${clientId}\u0001${identifier}`;
