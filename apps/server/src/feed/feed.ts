import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'lossless-json';
import type { BankDirectory } from '../domain/bank.ts';
import { parseExactJson } from '../lib/exact-json.ts';
import { ndjsonLines } from '../lib/ndjson.ts';
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
  /** Status updates that were applied, but for informational fields of which the transaction has another value. */
  readonly differences: { line: number; transaction_id: string; reason: string }[];
  /** The number of conflicts, rejected lines and differences beyond those listed. */
  unlisted: number;
}

export interface FeedDependencies {
  readonly transactionUpdater: TransactionUpdater;
  readonly banks: BankDirectory;
  /** Whether the client exists, enabled or not. */
  readonly clientExists: (clientId: string) => boolean;
  readonly onApplied: (outcome: AppliedUpdate['outcome']) => void;
  /** Null while tracing is off. */
  readonly causes: Causes | null;
}

/** Few statements for many lines, and still short ones: a batch holds its locks for some hundredths of a second. */
const BATCH_LINES = 500;
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
        async readJson(value) {
          const values = Array.isArray(value) ? value : [value];
          for (const [index, each] of values.entries()) {
            await batches.add(index + 1, () => ({ raw: stringify(each) ?? 'null', value: each }));
          }
          await batches.finish();
        },
        async readNdjson(stream) {
          const utf8 = new TextDecoder('utf-8', { fatal: true });
          for await (const { line, bytes } of ndjsonLines(stream, LINE_BYTES_MAX)) {
            if (bytes === null) {
              batches.reject(line, `the line is longer than ${LINE_BYTES_MAX} bytes`);
              continue;
            }
            await batches.add(line, () => {
              const raw = decode(utf8, bytes);
              return { raw, value: parseExactJson(raw) };
            });
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

interface FeedBatches {
  /** Reads one line into the current batch, and stores the batch if it is full. */
  add(line: number, read: () => { raw: string; value: unknown }): Promise<void>;
  reject(line: number, reason: string): void;
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

  function reject(line: number, reason: string): void {
    list(report, report.rejected, { line, reason });
    onApplied('rejected');
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
      for (const applied of await transactionUpdater.applyBatched(updates)) {
        count(report, applied);
        onApplied(applied.outcome);
      }
      chunk?.end();
    } catch (error) {
      chunk?.end({}, 'not_stored');
      throw error;
    }
  }

  return {
    reject,
    async add(line, read) {
      try {
        const { raw, value } = read();
        const update = parseUpdate(value, banks);
        if (!clientExists(update.clientId)) throw new InvalidUpdate('client_id is not a client of this service');
        batch.push({ line, raw, update, source });
        batchLength += raw.length;
      } catch (error) {
        reject(line, parseErrorMessage(error));
      }
      if (batch.length >= BATCH_LINES || batchLength >= BATCH_LENGTH) await flush();
      // Rejected lines cause no I/O: without this, a long run of them would block every other request.
      else if (line % BATCH_LINES === 0) await nextTurn();
    },
    async finish() {
      await flush();
      await applying;
      const { conflicts, rejected, differences } = report;
      for (const listed of [conflicts, rejected, differences]) listed.sort((one, other) => one.line - other.line);
    },
  };
}

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

function decode(utf8: TextDecoder, bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new InvalidUpdate('not valid UTF-8', { cause });
  }
}

function parseErrorMessage(error: unknown): string {
  if (error instanceof InvalidUpdate) return error.message;
  if (error instanceof SyntaxError) return 'not valid JSON';
  // The parser recurses, so nesting deeper than the stack throws a RangeError.
  if (error instanceof RangeError) return 'nested too deeply';
  throw error;
}
