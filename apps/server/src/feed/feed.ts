import { setImmediate as nextTurn } from 'node:timers/promises';
import { parse, stringify } from 'lossless-json';
import type { BankDirectory } from '../domain/bank.ts';
import { ndjsonLines } from '../lib/ndjson.ts';
import type { AppliedUpdate, ReceivedUpdate } from '../transactions/decide.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { InvalidUpdate, parseUpdate } from './parse-update.ts';

/** What came of a feed. Lines are counted from 1. */
export interface FeedReport {
  inserted: number;
  advanced: number;
  unchanged: number;
  /** Contradict what is known, and were kept as observations without being applied. */
  readonly conflicts: { line: number; transaction_id: string; reason: string }[];
  /** Could not be read, or lack what a first word needs. */
  readonly rejected: { line: number; reason: string }[];
  /** Conflicts and rejected lines beyond those listed. */
  unlisted: number;
}

export interface FeedDependencies {
  readonly transactionUpdater: TransactionUpdater;
  readonly banks: BankDirectory;
  /** Whether there is such a client, enabled or not. */
  readonly clientExists: (clientId: string) => boolean;
  readonly onApplied: (outcome: AppliedUpdate['outcome']) => void;
}

/** Few statements for many lines, and still short ones: a batch holds its locks for some hundredths of a second. */
const BATCH_LINES = 500;
/** Long lines are stored in smaller batches, so that their statements stay short too. */
const BATCH_LENGTH = 1024 * 1024;
const LINE_BYTES_MAX = 64 * 1024;
/** A feed that is wrong from end to end shall not fill the memory with its faults. */
const LISTED_MAX = 10_000;

export interface Feed {
  /** One feed from one source. */
  open(source: string): FeedRun;
}

export interface FeedRun {
  readonly report: FeedReport;
  /** JSON: one transaction, or an array of them. */
  readJson(value: unknown): Promise<void>;
  /** NDJSON of any length: it is applied while it arrives. */
  readNdjson(stream: AsyncIterable<Buffer>): Promise<void>;
}

export function createFeed({ transactionUpdater, banks, clientExists, onApplied }: FeedDependencies): Feed {
  function open(source: string): FeedRun {
    const report: FeedReport = { inserted: 0, advanced: 0, unchanged: 0, conflicts: [], rejected: [], unlisted: 0 };
    let gathered: ReceivedUpdate[] = [];
    let gatheredLength = 0;
    let applying = Promise.resolve();

    function reject(line: number, reason: string): void {
      list(report.rejected, { line, reason });
      onApplied('rejected');
    }

    function list<T>(entries: T[], entry: T): void {
      if (report.conflicts.length + report.rejected.length < LISTED_MAX) entries.push(entry);
      else report.unlisted += 1;
    }

    async function gather(line: number, read: () => { raw: string; value: unknown }): Promise<void> {
      try {
        const { raw, value } = read();
        const update = parseUpdate(value, banks);
        if (!clientExists(update.clientId)) throw new InvalidUpdate('client_id is not a client of this service');
        gathered.push({ line, raw, update, source });
        gatheredLength += raw.length;
      } catch (error) {
        reject(line, whyUnreadable(error));
      }
      if (gathered.length >= BATCH_LINES || gatheredLength >= BATCH_LENGTH) await handOver();
      // Lines that are refused wait for nothing: without this, many of them would keep everybody else waiting.
      else if (line % BATCH_LINES === 0) await nextTurn();
    }

    /** One batch is stored while the next is read; in their order, because a later word may build on an earlier one. */
    async function handOver(): Promise<void> {
      await applying;
      applying = apply(gathered);
      // Whoever waits for it hears of its failure.
      applying.catch(() => {});
      gathered = [];
      gatheredLength = 0;
    }

    async function finish(): Promise<void> {
      await handOver();
      await applying;
      for (const listed of [report.conflicts, report.rejected]) listed.sort((one, other) => one.line - other.line);
    }

    async function apply(lines: readonly ReceivedUpdate[]): Promise<void> {
      if (lines.length === 0) return;
      for (const { line, transactionId, outcome, reason } of await transactionUpdater.applyBatched(lines)) {
        if (outcome === 'conflict')
          list(report.conflicts, { line, transaction_id: transactionId, reason: reason ?? '' });
        else if (outcome === 'rejected') list(report.rejected, { line, reason: reason ?? '' });
        else report[COUNTED_AS[outcome]] += 1;
        onApplied(outcome);
      }
    }

    return {
      report,
      async readJson(value) {
        const values = Array.isArray(value) ? value : [value];
        for (const [index, each] of values.entries()) {
          await gather(index + 1, () => ({ raw: stringify(each) ?? 'null', value: each }));
        }
        await finish();
      },
      async readNdjson(stream) {
        const utf8 = new TextDecoder('utf-8', { fatal: true });
        for await (const { line, bytes } of ndjsonLines(stream, LINE_BYTES_MAX)) {
          if (bytes === null) {
            reject(line, `the line is longer than ${LINE_BYTES_MAX} bytes`);
            continue;
          }
          await gather(line, () => {
            const raw = decode(utf8, bytes);
            return { raw, value: parse(raw) };
          });
        }
        await finish();
      },
    };
  }

  return { open };
}

function decode(utf8: TextDecoder, bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new InvalidUpdate('not valid UTF-8', { cause });
  }
}

/** A reversal is progress too, though the status stays. That time has passed is nothing that a feed says. */
const COUNTED_AS = {
  inserted: 'inserted',
  advanced: 'advanced',
  reversed: 'advanced',
  overdue: 'unchanged',
  unchanged: 'unchanged',
} as const;

function whyUnreadable(error: unknown): string {
  if (error instanceof InvalidUpdate) return error.message;
  if (error instanceof SyntaxError) return 'not valid JSON';
  // The parser recurses, so nesting that is deeper than the stack ends as a RangeError.
  if (error instanceof RangeError) return 'nested too deeply';
  throw error;
}
