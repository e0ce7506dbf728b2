import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'lossless-json';
import type { BankDirectory } from '../domain/bank.ts';
import { parseExactJson } from '../lib/exact-json.ts';
import { type NdjsonText, ndjsonTexts } from '../lib/ndjson.ts';
import type { Causes, Span } from '../observability/tracing/tracing.ts';
import type { AppliedUpdate, ReceivedUpdate } from '../transactions/decide.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { InvalidUpdate, parseUpdate } from './parse-update.ts';

/** The result of a feed. Lines are counted from 1. */
export interface FeedReport {
  inserted: number;
  advanced: number;
  unchanged: number;
  /** Status updates that contradict the stored transaction. They were recorded but not applied. */
  readonly conflicts: { line: number; transaction_id: string; reason: string }[];
  /** Lines that could not be read, or that lack what the first status update of a transaction needs. */
  readonly rejected: { line: number; reason: string }[];
  /** Status updates that were applied, but for fields of which the transaction keeps another value. */
  readonly differences: { line: number; transaction_id: string; reason: string }[];
  /** The number of conflicts, rejected lines and differences beyond those listed. */
  unlisted: number;
}

/** How far a feed is. Lines that are read and not counted yet are in the batch that is being stored. */
export interface FeedProgress {
  readonly linesRead: number;
  readonly inserted: number;
  readonly advanced: number;
  readonly unchanged: number;
  readonly conflicts: number;
  readonly rejected: number;
}

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
const LINE_BYTES_MAX = 64 * 1024;
/** Bounds the memory of a report on a feed in which every line is wrong. */
const LISTED_MAX = 10_000;

export interface Feed {
  /** Opens one feed from one source. `span` is the request that brings it, if it is traced. */
  open(source: string, span?: Span): FeedRun;
}

export interface FeedRun {
  readonly report: FeedReport;
  progress(): FeedProgress;
  /** JSON: one status update, or an array of them. */
  readJson(value: unknown): Promise<void>;
  /** NDJSON of any length; it is applied while it arrives. */
  readNdjson(stream: AsyncIterable<Buffer>): Promise<void>;
}

export function createFeed(dependencies: FeedDependencies): Feed {
  return {
    open(source, span) {
      const report = emptyReport();
      const batches = createFeedBatches(dependencies, { source, span }, report);
      return {
        report,
        progress: batches.progress,
        async readJson(value) {
          const values: readonly unknown[] = Array.isArray(value) ? value : [value];
          for (const [index, each] of values.entries()) {
            batches.add(index + 1, () => ({ raw: stringify(each) ?? 'null', value: each }));
            await batches.pause(index + 1);
          }
          await batches.finish();
        },
        async readNdjson(stream) {
          for await (const texts of ndjsonTexts(stream, LINE_BYTES_MAX)) {
            for (const text of texts) {
              batches.add(text.line, () => readLine(text));
              // A promise for each line would cost more than the line itself.
              if (batches.isDue(text.line)) await batches.pause(text.line);
            }
          }
          await batches.finish();
        },
      };
    },
  };
}

const emptyReport = (): FeedReport => ({
  inserted: 0,
  advanced: 0,
  unchanged: 0,
  conflicts: [],
  rejected: [],
  differences: [],
  unlisted: 0,
});

/** One line, as received and parsed. @throws InvalidUpdate, SyntaxError or RangeError */
function readLine({ text, unreadable }: NdjsonText): { raw: string; value: unknown } {
  if (unreadable === 'too long') throw new InvalidUpdate(`the line is longer than ${LINE_BYTES_MAX} bytes`);
  if (text === null) throw new InvalidUpdate('not valid UTF-8');
  // The line end of other systems is not a part of the JSON text; with it, the parser would take its slow path.
  return { raw: text, value: parseExactJson(text.endsWith('\r') ? text.slice(0, -1) : text) };
}

interface FeedBatches {
  progress(): FeedProgress;
  /** Reads one line into the current batch. */
  add(line: number, read: () => { raw: string; value: unknown }): void;
  /** Whether to `pause` after this line. */
  isDue(line: number): boolean;
  /** Stores the batch if it is full, and gives other requests their turn. */
  pause(line: number): Promise<void>;
  /** Stores the last batch. Rejects if a batch could not be stored. */
  finish(): Promise<void>;
}

function createFeedBatches(
  { transactionUpdater, banks, clientExists, onApplied, causes }: FeedDependencies,
  { source, span }: { readonly source: string; readonly span: Span | undefined },
  report: FeedReport,
): FeedBatches {
  let batch: ReceivedUpdate[] = [];
  let batchLength = 0;
  let applying = Promise.resolve();
  const totals = { linesRead: 0, conflicts: 0, rejected: 0 };

  function countOutcome(outcome: AppliedUpdate['outcome'], length: number): void {
    if (outcome === 'conflict') totals.conflicts += length;
    if (outcome === 'rejected') totals.rejected += length;
    onApplied(outcome, length);
  }

  /** Stores one batch while the next is read; in order, because a later update may build on an earlier one. */
  async function flush(): Promise<void> {
    await applying;
    applying = apply(batch);
    // Its failure is reported where it is awaited.
    applying.catch(() => {});
    batch = [];
    batchLength = 0;
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

  const isFull = (): boolean => batch.length >= BATCH_LINES || batchLength >= BATCH_LENGTH;
  return {
    progress: () => progressOf(report, totals),
    add(line, read) {
      totals.linesRead = line;
      try {
        const { raw, value } = read();
        const update = parseUpdate(value, banks);
        if (!clientExists(update.clientId)) throw new InvalidUpdate('client_id is not a client of this service');
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
    async finish() {
      await flush();
      await applying;
      sortLists(report);
    },
  };
}

function lengthByOutcome(results: readonly AppliedUpdate[]): Map<AppliedUpdate['outcome'], number> {
  const lengths = new Map<AppliedUpdate['outcome'], number>();
  for (const { outcome } of results) lengths.set(outcome, (lengths.get(outcome) ?? 0) + 1);
  return lengths;
}

function sortLists({ conflicts, rejected, differences }: FeedReport): void {
  for (const listed of [conflicts, rejected, differences]) listed.sort((one, other) => one.line - other.line);
}

const progressOf = (
  { inserted, advanced, unchanged }: FeedReport,
  totals: Pick<FeedProgress, 'linesRead' | 'conflicts' | 'rejected'>,
): FeedProgress => ({ inserted, advanced, unchanged, ...totals });

/** One step for the updates that are stored together. A step for each line would be a trace of thousands. */
function beginChunk(span: Span, updates: readonly ReceivedUpdate[], causes: Causes | null): Span {
  const chunk = span.begin('feed chunk', 'internal', { 'tiba.updates': updates.length });
  // Before they are stored: their callbacks may be sent at once.
  for (const { update } of updates) causes?.remember(update.clientId, update.transactionId, chunk);
  return chunk;
}

function list<T>(report: FeedReport, entries: T[], entry: T): void {
  const { conflicts, rejected, differences } = report;
  if (conflicts.length + rejected.length + differences.length < LISTED_MAX) entries.push(entry);
  else report.unlisted += 1;
}

/** A reversal counts as advanced, though the status stays. The feed itself never marks a transaction overdue. */
const COUNTED_AS = {
  inserted: 'inserted',
  advanced: 'advanced',
  reversed: 'advanced',
  overdue: 'unchanged',
  unchanged: 'unchanged',
} as const;

function count(report: FeedReport, { line, transactionId, outcome, reason }: AppliedUpdate): void {
  if (outcome === 'conflict') {
    list(report, report.conflicts, { line, transaction_id: transactionId, reason: reason ?? '' });
  } else if (outcome === 'rejected') list(report, report.rejected, { line, reason: reason ?? '' });
  else {
    report[COUNTED_AS[outcome]] += 1;
    if (reason !== null) list(report, report.differences, { line, transaction_id: transactionId, reason });
  }
}

function parseErrorMessage(error: unknown): string {
  if (error instanceof InvalidUpdate) return error.message;
  if (error instanceof SyntaxError) return 'not valid JSON';
  // The parser recurses, so nesting deeper than the stack throws a RangeError.
  if (error instanceof RangeError) return 'nested too deeply';
  throw error;
}
