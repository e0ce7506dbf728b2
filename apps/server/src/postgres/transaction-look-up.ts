import { type Database, DatabaseUnavailable } from './database.ts';

/** A transaction as a status check needs it. */
export interface FoundTransaction {
  /** In decimal digits. */
  readonly version: string;
  readonly progress: Progress;
  /** The answer's `data`, JSON text. */
  readonly rendered: string;
}

/** `final`; `open` while in PROCESS; `askable` while in PROCESS and carried by a rail that can be asked about it. */
export type Progress = 'final' | 'open' | 'askable';

export type Found = (error: unknown, found: FoundTransaction | null) => void;

export interface TransactionLookUp {
  /**
   * Finds one transaction of the client by its reference ID, and before that by its transaction ID if asked to, and
   * hands it to `found`; null when there is none. `value` must be a valid identifier
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
 * How many batches may be under way. While one is, newcomers gather, so that under load batches grow by themselves and
 * the cost of a query is shared by more look-ups; alone, a look-up waits for nobody. A second one at a time only made
 * both smaller and cost 4 % more.
 */
const BATCHES_IN_FLIGHT_MAX = 1;
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
    let answers: string[] | undefined;
    let failure: unknown;
    try {
      answers = await ask(batch);
    } catch (error) {
      failure = error;
    }
    inFlight -= 1;
    if (answers === undefined) fail(batch, failure);
    // Those who have gathered meanwhile go first: PostgreSQL looks them up while these are answered.
    flush();
    if (answers !== undefined) answer(batch, answers);
  }

  async function ask(batch: LookUp[]): Promise<string[]> {
    try {
      return await askOnce(batch);
    } catch (error) {
      // A lost connection says nothing about PostgreSQL as a whole, and reading twice harms nobody.
      if (error instanceof DatabaseUnavailable && error.lostConnection) return askOnce(batch);
      throw error;
    }
  }

  async function askOnce(batch: LookUp[]): Promise<string[]> {
    const clientIds = batch.map(({ clientId }) => clientId).join(SEPARATOR);
    const forms = batch.map(({ alsoTransactionId }) => (alsoTransactionId ? 't' : 'r')).join('');
    const values = batch.map(({ value }) => value).join(SEPARATOR);
    const parameters = [clientIds, forms, values];
    const [row] = await database.query<{ answers: string }>(LOOK_UP_SQL, parameters, 'transaction-look-up');
    const answers = row?.answers.split(SEPARATOR) ?? [];
    // A shifted answer would show one client another's transaction.
    if (answers.length !== batch.length) throw new Error('a batch of look-ups came back with another length');
    return answers;
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

function answer(batch: LookUp[], answers: string[]): void {
  for (const [index, { found }] of batch.entries()) found(null, read(answers[index] ?? ''));
}

const PROGRESS: Readonly<Record<string, Progress>> = { F: 'final', P: 'open', A: 'askable' };

/** `<version><letter of the progress><rendered>`, or nothing. */
function read(answer: string): FoundTransaction | null {
  if (answer === '') return null;
  const start = answer.indexOf('{');
  const progress = PROGRESS[answer[start - 1] ?? ''];
  if (progress === undefined) throw new Error('a look-up came back in another form');
  return { version: answer.slice(0, start - 1), progress, rendered: answer.slice(start) };
}

// Neither identifiers nor JSON hold control characters, so one of them separates a whole batch in a single text, on the
// way there and on the way back: far cheaper than array literals with their quoting, and than a row for each answer.
const SEPARATOR = '\u0001';

const ANSWER = `version || case when status <> 'PROCESS' then 'F' when rail is null then 'P' else 'A' end || rendered`;

// One index probe for each look-up, and a second one only where the first finds nothing.
const LOOK_UP_SQL = `
select string_agg(coalesce(
         case form when 't' then
           (select ${ANSWER} from tiba.transactions
             where client_id = asked.client_id collate "C" and transaction_id = asked.value collate "C")
         end,
         (select ${ANSWER} from tiba.transactions
           where client_id = asked.client_id collate "C" and reference_id = asked.value collate "C"),
         ''), E'\\x01' order by n) as answers
from rows from (
  string_to_table($1, E'\\x01'),
  string_to_table($2, null),
  string_to_table($3, E'\\x01')
) with ordinality as asked (client_id, form, value, n)`;
