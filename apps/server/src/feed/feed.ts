import { stringify } from 'lossless-json';
import { parseExactJson } from '../lib/exact-json.ts';
import { type NdjsonText, ndjsonTexts } from '../lib/ndjson.ts';
import type { Span } from '../observability/tracing/tracing.ts';
import { createFeedBatches, type FeedBatches, type FeedDependencies } from './batches.ts';
import { InvalidUpdate } from './parse-update.ts';
import { emptyReport, type FeedProgress, type FeedReport } from './report.ts';

const LINE_BYTES_MAX = 64 * 1024;

export interface Feed {
  /** Opens one feed from one source. `span` is the request that brings it, if it is traced. */
  open(source: string, span?: Span): FeedRun;
}

export interface FeedRun {
  readonly report: FeedReport;
  progress(): FeedProgress;
  /** JSON: one status update, or an array of them. */
  readJson(value: unknown): Promise<void>;
  /** NDJSON of any length; it is applied while it arrives. Null: nothing arrives for now. */
  readNdjson(stream: AsyncIterable<Buffer | null>): Promise<void>;
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
          for await (const texts of ndjsonTexts(storingAtPauses(stream, batches), LINE_BYTES_MAX)) {
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

/**
 * The chunks of the stream. What was read is stored when nothing arrives, and when too little arrives to fill a batch
 * soon: a core may keep a feed open, and send a line now and then.
 */
async function* storingAtPauses(stream: AsyncIterable<Buffer | null>, batches: FeedBatches): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    if (chunk === null || batches.isOld()) await batches.store();
    if (chunk !== null) yield chunk;
  }
}

/** One line, as received and parsed. @throws InvalidUpdate, SyntaxError or RangeError */
function readLine({ text, unreadable }: NdjsonText): { raw: string; value: unknown } {
  if (unreadable === 'too long') throw new InvalidUpdate(`the line is longer than ${LINE_BYTES_MAX} bytes`);
  if (text === null) throw new InvalidUpdate('not valid UTF-8');
  // The line end of other systems is not a part of the JSON text; with it, the parser would take its slow path.
  return { raw: text, value: parseExactJson(text.endsWith('\r') ? text.slice(0, -1) : text) };
}
