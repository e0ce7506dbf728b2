import { type Database, DatabaseUnavailable } from './database.ts';

export type Found = (error: unknown, rendered: string | null) => void;

export interface TransactionLookUp {
  /**
   * Finds one transaction of the client by its reference ID, and before that by its transaction ID if asked to, and
   * hands its rendered JSON to `found`; null when there is none. `value` must be a valid identifier
   * (domain/identifiers.ts).
   */
  find(clientId: string, value: string, alsoTransactionId: boolean, found: Found): void;
}

export interface LookUpOptions {
  /** Look-ups in one query at the most; 1 sends each alone, which only a benchmark wants. */
  readonly batchMax?: number;
  readonly onBatch?: (size: number) => void;
}

/**
 * How many batches may be under way. While they are, newcomers gather, so that under load batches grow by themselves
 * and the cost of a query is shared by more look-ups. More than a few would only make them smaller.
 */
const BATCHES_IN_FLIGHT_MAX = 2;
const BATCH_MAX = 512;
/** Past this, answers would come too late to be of use. */
const WAITING_MAX = 20_000;

/** Look-ups that arrive in one turn of the event loop go to PostgreSQL as one query. Nothing is cached: each reads. */
export function createTransactionLookUp(database: Database, options: LookUpOptions = {}): TransactionLookUp {
  const { batchMax = BATCH_MAX, onBatch } = options;
  const inFlightMax = batchMax === 1 ? Number.POSITIVE_INFINITY : BATCHES_IN_FLIGHT_MAX;
  let waiting: LookUp[] = [];
  let inFlight = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || inFlight >= inFlightMax) return;
    scheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    while (waiting.length > 0 && inFlight < inFlightMax) {
      const batch = waiting.length <= batchMax ? waiting : waiting.slice(0, batchMax);
      waiting = batch === waiting ? [] : waiting.slice(batchMax);
      inFlight += 1;
      onBatch?.(batch.length);
      void run(batch);
    }
  }

  async function run(batch: LookUp[]): Promise<void> {
    let rows: AnswerRow[] | undefined;
    let failure: unknown;
    try {
      rows = await ask(batch);
    } catch (error) {
      failure = error;
    }
    inFlight -= 1;
    if (rows === undefined) fail(batch, failure);
    else answer(batch, rows);
    schedule();
  }

  async function ask(batch: LookUp[]): Promise<AnswerRow[]> {
    try {
      return await askOnce(batch);
    } catch (error) {
      // A lost connection says nothing about PostgreSQL as a whole, and reading twice harms nobody.
      if (error instanceof DatabaseUnavailable && error.lostConnection) return askOnce(batch);
      throw error;
    }
  }

  function askOnce(batch: LookUp[]): Promise<AnswerRow[]> {
    const clientIds = batch.map(({ clientId }) => clientId).join(SEPARATOR);
    const forms = batch.map(({ alsoTransactionId }) => (alsoTransactionId ? 't' : 'r')).join('');
    const values = batch.map(({ value }) => value).join(SEPARATOR);
    return database.query<AnswerRow>(LOOK_UP_SQL, [clientIds, forms, values], 'transaction-look-up');
  }

  function fail(batch: LookUp[], error: unknown): void {
    for (const { found } of batch) found(error, null);
    if (!(error instanceof DatabaseUnavailable)) return;
    // Whoever waited for this batch would only wait as long again for the same database.
    const others = waiting;
    waiting = [];
    for (const { found } of others) found(error, null);
  }

  return {
    find(clientId, value, alsoTransactionId, found) {
      if (waiting.length >= WAITING_MAX) {
        found(new DatabaseUnavailable(new Error('too many look-ups are waiting'), false), null);
        return;
      }
      waiting.push({ clientId, value, alsoTransactionId, found });
      schedule();
    },
  };
}

interface LookUp {
  readonly clientId: string;
  readonly value: string;
  readonly alsoTransactionId: boolean;
  readonly found: Found;
}

interface AnswerRow extends Record<string, unknown> {
  /** Which look-up of the batch, from 1. */
  readonly n: number;
  readonly rendered: string;
}

function answer(batch: LookUp[], rows: AnswerRow[]): void {
  const answers: (string | null)[] = Array.from({ length: batch.length }, () => null);
  for (const row of rows) answers[row.n - 1] = row.rendered;
  for (const [index, { found }] of batch.entries()) found(null, answers[index] as string | null);
}

// Identifiers hold no control characters, so one of them separates a whole batch in a single text parameter:
// far cheaper to write and to read than an array literal with its quoting.
const SEPARATOR = '\u0001';

const LOOK_UP_SQL = `
select asked.n::integer as n, found.rendered
from rows from (
  string_to_table($1, E'\\x01'),
  string_to_table($2, null),
  string_to_table($3, E'\\x01')
) with ordinality as asked (client_id, form, value, n)
cross join lateral (
  select rendered, 0 as preference from tiba.transactions
   where asked.form = 't' and client_id = asked.client_id collate "C" and transaction_id = asked.value collate "C"
  union all
  select rendered, 1 from tiba.transactions
   where client_id = asked.client_id collate "C" and reference_id = asked.value collate "C"
  order by preference limit 1
) as found`;
