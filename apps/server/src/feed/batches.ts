import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BankDirectory } from '../domain/bank.ts';
import { RepeatedName } from '../lib/exact-json.ts';
import type { Causes, Span } from '../observability/tracing/tracing.ts';
import type { AppliedUpdate, ReceivedUpdate } from '../transactions/decide.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { InvalidUpdate, parseUpdate } from './parse-update.ts';
import { count, type FeedProgress, type FeedReport, list, progressOf, sortLists } from './report.ts';

export interface FeedDependencies {
  readonly transactionUpdater: TransactionUpdater;
  readonly banks: BankDirectory;
  /** Whether the client exists, enabled or not. */
  readonly clientExists: (clientId: string) => boolean;
  /** How many updates of a batch had this outcome. */
  readonly onApplied: (outcome: AppliedUpdate['outcome'], count: number) => void;
  /** Null while tracing is off. */
  readonly causes: Causes | null;
}

/** Few statements for many lines, and still short ones: a batch holds its locks for some hundredths of a second. */
const BATCH_LINES = 1_000;
/** In characters. Long lines are stored in smaller batches, so that their statements stay short too. */
const BATCH_LENGTH = 1024 * 1024;
/** A line waits this long for others, so that they are stored together. */
export const BATCH_AGE_MS = 200;

export interface FeedBatches {
  progress(): FeedProgress;
  /** Reads one line into the current batch. */
  add(line: number, read: () => { raw: string; value: unknown }): void;
  /** Whether to `pause` after this line. */
  isDue(line: number): boolean;
  /** Stores the batch if it is full, and gives other requests their turn. */
  pause(line: number): Promise<void>;
  /** Whether its first line has waited long enough. */
  isOld(): boolean;
  /** Stores the batch. Rejects if it, or the one before, could not be stored. */
  store(): Promise<void>;
  /** Stores the last batch. */
  finish(): Promise<void>;
}

export function createFeedBatches(
  dependencies: FeedDependencies,
  { source, span }: { readonly source: string; readonly span: Span | undefined },
  report: FeedReport,
): FeedBatches {
  const { banks, clientExists } = dependencies;
  const { totals, countOutcome, apply } = createApplying(dependencies, span, report);
  let batch: ReceivedUpdate[] = [];
  let batchLength = 0;
  let batchSinceMs = 0;
  let applying = Promise.resolve();

  /** Stores one batch while the next is read; in order, because a later update may build on an earlier one. */
  async function flush(): Promise<void> {
    await applying;
    applying = apply(batch);
    // Its failure is reported where it is awaited.
    applying.catch(() => {});
    batch = [];
    batchLength = 0;
  }

  async function store(): Promise<void> {
    await flush();
    await applying;
  }

  const isFull = (): boolean => batch.length >= BATCH_LINES || batchLength >= BATCH_LENGTH;
  return {
    progress: () => progressOf(report, totals),
    add(line, read) {
      totals.linesRead = line;
      try {
        const { raw, value } = read();
        const update = parseUpdate(value, banks);
        if (!clientExists(update.clientId)) throw new InvalidUpdate('client_id is not a client of this service');
        if (batch.length === 0) batchSinceMs = performance.now();
        batch.push({ line, raw, update, source });
        batchLength += raw.length;
      } catch (error) {
        list(report, report.rejected, { line, reason: parseErrorMessage(error) });
        countOutcome('rejected', 1);
      }
    },
    isDue: (line) => isFull() || line % BATCH_LINES === 0,
    async pause(line) {
      if (isFull()) await flush();
      // Reading causes no I/O: without this, a long run of rejected lines would block every other request.
      else if (line % BATCH_LINES === 0) await nextTurn();
    },
    isOld: () => batch.length > 0 && performance.now() - batchSinceMs >= BATCH_AGE_MS,
    store,
    async finish() {
      await store();
      sortLists(report);
    },
  };
}

/** Applies batches, and counts what becomes of their updates. */
function createApplying(
  { transactionUpdater, onApplied, causes }: FeedDependencies,
  span: Span | undefined,
  report: FeedReport,
) {
  const totals = { linesRead: 0, conflicts: 0, rejected: 0 };

  function countOutcome(outcome: AppliedUpdate['outcome'], length: number): void {
    if (outcome === 'conflict') totals.conflicts += length;
    if (outcome === 'rejected') totals.rejected += length;
    onApplied(outcome, length);
  }

  async function apply(updates: readonly ReceivedUpdate[]): Promise<void> {
    if (updates.length === 0) return;
    const chunk = span === undefined ? undefined : beginChunk(span, updates, causes);
    try {
      const results = await transactionUpdater.applyBatched(updates);
      for (const applied of results) count(report, applied);
      for (const [outcome, length] of lengthByOutcome(results)) countOutcome(outcome, length);
      chunk?.end();
    } catch (error) {
      chunk?.end({}, 'not_stored');
      throw error;
    }
  }

  return { totals, countOutcome, apply };
}

function lengthByOutcome(results: readonly AppliedUpdate[]): Map<AppliedUpdate['outcome'], number> {
  const lengths = new Map<AppliedUpdate['outcome'], number>();
  for (const { outcome } of results) lengths.set(outcome, (lengths.get(outcome) ?? 0) + 1);
  return lengths;
}

/** One step for the updates that are stored together. A step for each line would be a trace of thousands. */
function beginChunk(span: Span, updates: readonly ReceivedUpdate[], causes: Causes | null): Span {
  const chunk = span.begin('feed chunk', 'internal', { 'tiba.updates': updates.length });
  // Before they are stored: their callbacks may be sent at once.
  for (const { update } of updates) causes?.remember(update.clientId, update.transactionId, chunk);
  return chunk;
}

function parseErrorMessage(error: unknown): string {
  if (error instanceof InvalidUpdate) return error.message;
  if (error instanceof RepeatedName) return 'a field is named twice, with different values';
  if (error instanceof SyntaxError) return 'not valid JSON';
  // The parser recurses, so nesting deeper than the stack throws a RangeError.
  if (error instanceof RangeError) return 'nested too deeply';
  throw error;
}
