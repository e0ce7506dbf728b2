import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { listResults, type ValidationResult } from '../../postgres/account-validation-results.ts';
import { countRowsInFlight } from '../../postgres/account-validation-rows.ts';
import { findValidation, type ValidationKey } from '../../postgres/account-validations.ts';
import type { Database } from '../../postgres/database.ts';
import { LANGUAGE_HEADERS } from '../envelope.ts';
import { tooManyRequests } from '../errors.ts';
import { languageOf } from '../language.ts';
import type { OpenWaits } from '../open-waits.ts';
import type { AccountValidationDependencies } from './operation.ts';
import { CSV_HEADER, csvLine } from './result-csv.ts';
import type { ResultJson, SerializeResults } from './result-json.ts';

export const STREAM_TYPES = ['application/x-ndjson', 'text/csv'] as const;

/** The results in one query of a stream. The event loop gets a turn between two queries. */
const BATCH_MAX = 250;
const POLL_INTERVAL_MS = 1_000;
/** Streams of one client that follow results at the same time. Each of them polls PostgreSQL. */
const FOLLOWING_MAX = 4;
const FOLLOWING_RETRY_AFTER_MS = 60_000;
/** A stream ends after this time. The client continues after its last sequence. */
const STREAM_MAX_MS = 10 * 60_000;

export interface ResultStream {
  readonly key: ValidationKey;
  /** Send results after this sequence only. */
  readonly after: number;
  /** Whether the stream waits for later results until the validation ends. */
  readonly follow: boolean;
  readonly type: (typeof STREAM_TYPES)[number];
}

type StreamDependencies = Pick<AccountValidationDependencies, 'database' | 'reauthorize' | 'closing' | 'openStreams'>;

/** Returns a function that answers with a stream. @throws ApiError RATE_LIMIT_EXCEEDED when too many streams follow */
export function createResultStreams(dependencies: StreamDependencies, serialize: SerializeResults) {
  const { openStreams } = dependencies;

  return async (request: FastifyRequest, reply: FastifyReply, stream: ResultStream): Promise<FastifyReply> => {
    const { key, follow, type } = stream;
    request.route += ' (streaming)';
    if (follow) await admitFollowing(openStreams, key.clientId, reply);
    const mayContinue = createContinuation(request, stream, dependencies);
    const language = languageOf(request);
    const lines = readLines(stream, {
      ...dependencies,
      serialize: (results) => serialize(results, language),
      mayContinue,
      abort: () => reply.raw.destroy(),
    });
    return reply
      .headers(LANGUAGE_HEADERS[language])
      .headers({ 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(Readable.from(lines, { objectMode: false }));
  };
}

async function admitFollowing(openStreams: OpenWaits, clientId: string, reply: FastifyReply): Promise<void> {
  if (!(await openStreams.admit(clientId, FOLLOWING_MAX, reply))) {
    throw tooManyRequests(FOLLOWING_RETRY_AFTER_MS, {
      en: `At most ${FOLLOWING_MAX} streams may follow results at a time: close one, or read page by page`,
      id:
        `Paling banyak ${FOLLOWING_MAX} stream dapat mengikuti hasil bersamaan: tutup salah satu, atau baca ` +
        'halaman demi halaman',
    });
  }
  // While a bank is down the stream sends nothing, for longer than the server's timeout for idle connections.
  reply.raw.setTimeout(STREAM_MAX_MS);
}

/**
 * Whether a stream may send more: its time is not over and its caller is still authorized. A stream that follows can be
 * continued at another process, so it also ends when the service closes or cannot authorize the caller now. A download
 * continues in these cases, while the server drains.
 */
function createContinuation(
  request: FastifyRequest,
  { follow }: ResultStream,
  { reauthorize, closing }: StreamDependencies,
): () => Promise<boolean> {
  const endMs = performance.now() + STREAM_MAX_MS;
  return async () => {
    if (performance.now() > endMs || (follow && closing.aborted)) return false;
    const error = await reauthorize(request);
    return error === null || (!follow && error.code === 'SERVICE_UNAVAILABLE');
  };
}

interface LineSource extends Pick<StreamDependencies, 'database'> {
  readonly serialize: (results: readonly ValidationResult[]) => Promise<readonly ResultJson[]>;
  readonly mayContinue: () => Promise<boolean>;
  /** Closes the connection, so that the client sees an incomplete response. */
  readonly abort: () => void;
}

async function* readLines(
  { key, after: start, follow, type }: ResultStream,
  { database, serialize, mayContinue, abort }: LineSource,
): AsyncGenerator<string> {
  const toLine = type === 'text/csv' ? csvLine : ndjsonLine;
  let after = start;
  if (type === 'text/csv') yield CSV_HEADER;
  for (;;) {
    // Read before the results: when no more can come by now, none follows the last one that is read below.
    const mayGrow = follow && (await mayGetResults(database, key));
    for (;;) {
      const results = await listResults(database, key, { after, limit: BATCH_MAX });
      after = results.at(-1)?.sequence ?? after;
      if (results.length > 0) yield (await serialize(results)).map(toLine).join('');
      if (results.length < BATCH_MAX) break;
      // A client that reads slowly asks for the next batch long after it was authorized.
      if (!(await mayContinue())) {
        // A download that ended normally here would look complete.
        if (!follow) abort();
        return;
      }
    }
    if (!mayGrow || !(await mayContinue())) return;
    await wait(POLL_INTERVAL_MS);
    if (!(await mayContinue())) return;
  }
}

async function mayGetResults(database: Database, key: ValidationKey): Promise<boolean> {
  const state = (await findValidation(database, key))?.state;
  return state === 'RUNNING' || (state === 'CANCELLED' && (await countRowsInFlight(database, key)) > 0);
}

const ndjsonLine = (result: ResultJson): string => `${JSON.stringify(result)}\n`;
