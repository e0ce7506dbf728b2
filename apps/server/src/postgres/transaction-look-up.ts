import { isTransactionId } from '../domain/identifiers.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import { guarded } from './distributed/one-client.ts';
import { findRenderedOf } from './distributed/transaction-look-up.ts';
import { parsePrinted, printed } from './rendered-transactions.ts';

/** A transaction as a status check needs it. */
export interface FoundTransaction {
  /** In decimal digits. */
  readonly version: string;
  readonly progress: Progress;
  /** The rail that may be asked for the status; null unless the progress is `inquirable`. */
  readonly rail: string | null;
  /** The `data` of the response, as JSON text. */
  readonly rendered: string;
}

/** `inquirable`: in PROCESS, over a rail that supports status inquiries. `in_process`: in PROCESS otherwise. */
export type Progress = 'final' | 'in_process' | 'inquirable';

export interface LookUpResult {
  /** Null when there is none. */
  readonly error: unknown;
  /** Null when there is no such transaction, or when there is an error. */
  readonly found: FoundTransaction | null;
}

/** One that throws is called again with what it threw: the other look-ups of its batch must still be answered. */
export type LookUpCallback = (error: LookUpResult['error'], found: LookUpResult['found']) => void;

export interface TransactionLookUp {
  /**
   * Finds one transaction of the client: by its transaction ID first if `alsoTransactionId`, then by its reference ID.
   * `value` must be a valid identifier (domain/identifiers.ts).
   */
  find(clientId: string, value: string, alsoTransactionId: boolean, callback: LookUpCallback): void;
  /**
   * Finds many transactions of the client in one query of their own, in the order of `values`: each by its transaction
   * ID where the value has that form, then by its reference ID. All are read from the same snapshot.
   */
  findAll(clientId: string, values: readonly string[]): Promise<readonly (FoundTransaction | null)[]>;
}

export interface LookUpOptions {
  /** Look-ups in one query at most. 1 sends each look-up as its own query, which only a benchmark wants. */
  readonly batchMax?: number;
  readonly onBatch?: (size: number) => void;
}

/**
 * Batches in flight at most. While one is in flight, new look-ups queue, so batches grow under load and more look-ups
 * share the cost of a query; without load, a look-up does not wait. Two batches in flight were only smaller, and cost
 * 4 % more.
 */
const BATCHES_IN_FLIGHT_MAX = 1;
const BATCH_MAX = 512;
/** With a longer queue, responses would come too late to be of use. */
const QUEUE_MAX = 20_000;

/**
 * Sends look-ups that arrive in the same turn of the event loop to PostgreSQL as one query. Nothing is cached: each
 * look-up reads the table. This batching was measured (docs/decisions/0006-batched-look-ups.md), so
 * `lib/batcher.ts` does not replace it.
 */
export const createTransactionLookUp = (database: Database, options: LookUpOptions = {}): TransactionLookUp =>
  database.distributed
    ? createLookUpByClient(database, options)
    : createLookUp(database, (batch) => queryBatch(database, batch), options);

/**
 * Of a distributed database, which can look rows up in one place when a query is about one client. Each client has
 * batches of its own, so the clients of a node that is slow or away delay no others.
 */
function createLookUpByClient(database: Database, options: LookUpOptions): TransactionLookUp {
  const lookUps = new Map<string, TransactionLookUp>();
  const ofClient = (clientId: string): TransactionLookUp => {
    const known = lookUps.get(clientId);
    if (known !== undefined) return known;
    const query: QueryBatch = (batch) => guarded(database, clientId, () => findRenderedOf(database, clientId, batch));
    const created = createLookUp(database, query, options);
    lookUps.set(clientId, created);
    return created;
  };
  return {
    find: (clientId, value, alsoTransactionId, callback) =>
      ofClient(clientId).find(clientId, value, alsoTransactionId, callback),
    findAll: (clientId, values) => ofClient(clientId).findAll(clientId, values),
  };
}

type QueryBatch = (batch: readonly PendingLookUp[]) => Promise<string[]>;

function createLookUp(database: Database, query: QueryBatch, options: LookUpOptions): TransactionLookUp {
  const { batchMax = BATCH_MAX, onBatch } = options;
  const inFlightMax = batchMax === 1 ? Number.POSITIVE_INFINITY : BATCHES_IN_FLIGHT_MAX;
  let queue: PendingLookUp[] = [];
  let inFlight = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || queue.length === 0 || inFlight >= inFlightMax) return;
    scheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    while (queue.length > 0 && inFlight < inFlightMax) {
      const batch = queue.length <= batchMax ? queue : queue.slice(0, batchMax);
      queue = batch === queue ? [] : queue.slice(batchMax);
      inFlight += 1;
      onBatch?.(batch.length);
      void run(batch);
    }
  }

  async function run(batch: PendingLookUp[]): Promise<void> {
    let results: string[] | undefined;
    let failure: unknown;
    try {
      results = await withRetry(() => query(batch));
    } catch (error) {
      failure = error;
    }
    inFlight -= 1;
    if (results === undefined) fail(batch, failure);
    // Sends the queued look-ups first: PostgreSQL works on them while this process answers the finished batch.
    flush();
    if (results !== undefined) answer(batch, results);
  }

  function fail(batch: PendingLookUp[], error: unknown): void {
    for (const { callback } of batch) reportError(callback, error);
    if (!(error instanceof DatabaseUnavailable)) return;
    // Queued look-ups would only wait as long again for the same database.
    const queued = queue;
    queue = [];
    for (const { callback } of queued) reportError(callback, error);
  }

  return {
    find(clientId, value, alsoTransactionId, callback) {
      if (queue.length >= QUEUE_MAX) {
        callback(new DatabaseUnavailable(new Error('the queue of transaction look-ups is full'), false), null);
        return;
      }
      queue.push({ clientId, value, alsoTransactionId, callback });
      schedule();
    },
    async findAll(clientId, values) {
      if (values.length === 0) return [];
      const results = await withRetry(() => queryAll(database, clientId, values));
      return results.map(parseResult);
    },
  };
}

interface PendingLookUp {
  readonly clientId: string;
  readonly value: string;
  readonly alsoTransactionId: boolean;
  readonly callback: LookUpCallback;
}

async function withRetry(query: () => Promise<string[]>): Promise<string[]> {
  try {
    return await query();
  } catch (error) {
    // One lost connection does not mean that PostgreSQL is unavailable, and a repeated read does no harm.
    if (error instanceof DatabaseUnavailable && error.lostConnection) return query();
    throw error;
  }
}

async function queryBatch(database: Database, batch: readonly PendingLookUp[]): Promise<string[]> {
  const clientIds = batch.map(({ clientId }) => clientId).join(SEPARATOR);
  const kinds = batch.map(({ alsoTransactionId }) => (alsoTransactionId ? 't' : 'r')).join('');
  const values = batch.map(({ value }) => value).join(SEPARATOR);
  const parameters = [clientIds, kinds, values];
  const rows = await database.query<ResultRow>(LOOK_UP_SQL, parameters, 'transaction-look-up');
  return splitResults(rows, batch.length);
}

async function queryAll(database: Database, clientId: string, values: readonly string[]): Promise<string[]> {
  if (database.distributed) {
    const lookUps = values.map((value) => ({ value, alsoTransactionId: isTransactionId(value) }));
    return guarded(database, clientId, () => findRenderedOf(database, clientId, lookUps));
  }
  const kinds = values.map((value) => (isTransactionId(value) ? 't' : 'r')).join('');
  const parameters = [clientId, kinds, values.join(SEPARATOR)];
  const rows = await database.query<ResultRow>(LOOK_UP_ALL_SQL, parameters, 'transaction-look-up-all');
  return splitResults(rows, values.length);
}

type ResultRow = { readonly results: string };

function splitResults([row]: readonly ResultRow[], count: number): string[] {
  const results = row?.results.split(SEPARATOR) ?? [];
  // If the results were shifted by one, a client would see another transaction, or another client's.
  if (results.length !== count) throw new Error('the number of look-up results differs from the number of look-ups');
  return results;
}

function answer(batch: PendingLookUp[], results: string[]): void {
  for (const [index, { callback }] of batch.entries()) {
    try {
      callback(null, parseResult(results[index] ?? ''));
    } catch (error) {
      reportError(callback, error);
    }
  }
}

function reportError(callback: LookUpCallback, error: unknown): void {
  try {
    callback(error, null);
  } catch {
    // It cannot handle its error, and the rest of the batch must not suffer from that.
  }
}

/**
 * The tail is `<version><letter of the progress><rail, if inquirable>`; the result is empty when there is no such
 * transaction. A version is digits and the name of a rail is lower case, so the letter cannot be confused with either.
 */
function parseResult(result: string): FoundTransaction | null {
  if (result === '') return null;
  const { tail, json: rendered } = parsePrinted(result);
  const last = tail.at(-1);
  if (last === 'F') return { version: tail.slice(0, -1), progress: 'final', rail: null, rendered };
  if (last === 'P') return { version: tail.slice(0, -1), progress: 'in_process', rail: null, rendered };
  const [version = '', rail] = tail.split('I');
  if (rail === undefined) throw new Error('a look-up result has an unknown format');
  return { version, progress: 'inquirable', rail, rendered };
}

// Neither identifiers nor other fields contain control characters, so one of them separates the items of a batch within
// a single text, in the parameters and in the result. This is far cheaper than array literals with their quoting, and
// than one row per result.
const SEPARATOR = '\u0001';

const FINAL = `select ${printed('t', "t.version || 'F'")} from tiba.transactions_final t`;
const IN_PROCESS = `select ${printed('t', "t.version || coalesce('I' || t.rail, 'P')")}
                from tiba.transactions_in_process t`;

// One index probe for each look-up of a final transaction by its transaction ID, and others only where the first finds
// nothing. A transaction is in one of the tables, and one statement sees it in one.
const resultsOf = (clientId: string): string => `
select string_agg(coalesce(
         case kind when 't' then coalesce(
           (${FINAL} where t.client_id = ${clientId} collate "C" and t.transaction_id = input.value collate "C"),
           (${IN_PROCESS}
             where t.client_id = ${clientId} collate "C" and t.transaction_id = input.value collate "C"))
         end,
         (${FINAL} where t.client_id = ${clientId} collate "POSIX" and t.reference_id = input.value collate "C"),
         (${IN_PROCESS} where t.client_id = ${clientId} collate "POSIX" and t.reference_id = input.value collate "C"),
         ''), E'\\x01' order by ordinal) as results`;

const LOOK_UP_SQL = `${resultsOf('input.client_id')}
from rows from (
  string_to_table($1, E'\\x01'),
  string_to_table($2, null),
  string_to_table($3, E'\\x01')
) with ordinality as input (client_id, kind, value, ordinal)`;

/** All of one client. */
const LOOK_UP_ALL_SQL = `${resultsOf('$1')}
from rows from (
  string_to_table($2, null),
  string_to_table($3, E'\\x01')
) with ordinality as input (kind, value, ordinal)`;
