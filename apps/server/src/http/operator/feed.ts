import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Feed, FeedReport } from '../../feed/feed.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { DatabaseUnavailable } from '../../postgres/database.ts';
import type { Restore } from '../../postgres/restores.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { ApiError, unavailable } from '../errors.ts';
import { requireBodyOf } from '../request-body.ts';
import { feedSchema } from './feed-schema.ts';

/** Parsing longer JSON would delay all other requests. NDJSON is read line by line and has no such limit. */
const JSON_BYTES_MAX = 1024 * 1024;
const RETRY_AFTER_MS = 2_000;
/**
 * While Tiba waits for it, a feed must complete a line within this time, or it is disconnected. A feed that keeps this
 * pace has no time limit.
 */
const LINE_TIMEOUT_MS = 30_000;
const NEWLINE = 0x0a;
/** How long the rest of a feed that failed is read. */
const DISCARD_TIMEOUT_MS = 60_000;

const NDJSON = 'application/x-ndjson';

export interface FeedOperationDependencies {
  readonly feed: Feed;
  /** Null when no backup was restored. */
  readonly latestRestore: () => Restore | null;
}

/** The feed: the disbursement core sends Tiba its transactions and their status updates (docs/feed.md). */
export function receiveFeed(
  app: FastifyInstance,
  authorize: Authorize,
  { feed, latestRestore }: FeedOperationDependencies,
  lineTimeoutMs: number = LINE_TIMEOUT_MS,
): void {
  app.addContentTypeParser(NDJSON, (_request, payload, done) => {
    done(null, payload);
  });

  const onRequest = [authorize({ scope: 'feed:write' }), requireBodyOf('application/json', NDJSON)];
  const options = { onRequest, bodyLimit: JSON_BYTES_MAX, schema: feedSchema };
  app.post('/feed/v1/transactions', options, async (request, reply) => {
    const run = feed.open(callerOf(request).client.clientId, request.span);
    try {
      if (request.headers['content-type']?.toLowerCase().startsWith(NDJSON) === true) {
        app.pacedRequests.add(request.raw);
        await run.readNdjson(readAtPace(request.raw, lineTimeoutMs));
      } else if (request.body === undefined) {
        throw new ApiError('INVALID_FORMAT', {
          message: englishOnly(`Invalid format: the body is empty; send JSON, or ${NDJSON} for many updates`),
        });
      } else {
        await run.readJson(request.body);
      }
    } catch (error) {
      discardRest(request.raw);
      if (error instanceof ApiError && error.code === 'REQUEST_TIMEOUT') {
        const message = englishOnly(
          `The feed completed no line for ${lineTimeoutMs / 1000} s (stored so far: ${counts(run.report)}): ` +
            'send the whole feed again, nothing is applied twice',
        );
        // The core may still read, so it is answered. The connection closes with the answer, and ends the reading.
        throw new ApiError(error.code, { message, headers: { connection: 'close' } });
      }
      if (!(error instanceof DatabaseUnavailable)) throw error;
      throw unavailable(
        englishOnly(
          `the database cannot take the rest now (stored so far: ${counts(run.report)}). Send the whole feed again, ` +
            'nothing is applied twice',
        ),
        RETRY_AFTER_MS,
        error,
      );
    }
    request.logFields = { feed: counts(run.report) };
    return sendOperatorSuccess(reply, messageFor(run.report), reportJson(run.report, latestRestore()));
  });
}

/** The body's chunks. The time that Tiba needs to store them does not count. @throws ApiError REQUEST_TIMEOUT */
async function* readAtPace(body: IncomingMessage, lineTimeoutMs: number): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = body.iterator({ destroyOnReturn: false });
  let leftMs = lineTimeoutMs;
  let isWaiting = false;
  try {
    for (;;) {
      const waitingSinceMs = performance.now();
      const tooSlow = Promise.withResolvers<never>();
      const timer = setTimeout(() => tooSlow.reject(new ApiError('REQUEST_TIMEOUT')), leftMs);
      isWaiting = true;
      const next = await Promise.race([chunks.next(), tooSlow.promise]).finally(() => clearTimeout(timer));
      isWaiting = false;
      if (next.done === true) return;
      leftMs = next.value.includes(NEWLINE) ? lineTimeoutMs : leftMs - (performance.now() - waitingSinceMs);
      yield next.value;
    }
  } finally {
    // An iterator that is not ended keeps the body from being discarded. One that waits for a chunk cannot be ended.
    if (!isWaiting) await chunks.return?.();
  }
}

/** Many clients read the answer only after they have sent everything, so the rest is read and discarded. */
function discardRest(body: IncomingMessage): void {
  // Not a reason to stay alive: a process that stops closes its connections itself.
  const timer = setTimeout(() => body.destroy(), DISCARD_TIMEOUT_MS).unref();
  body.once('close', () => clearTimeout(timer));
  body.resume();
}

/** A core that sees another `restored_at` than before feeds again what the restore has lost. */
const reportJson = (report: FeedReport, restore: Restore | null): string =>
  JSON.stringify({ ...report, restored_at: restore?.restoredAt ?? null, restored_to: restore?.restoredTo ?? null });

const counts = ({ inserted, advanced, unchanged, conflicts, rejected }: FeedReport): string =>
  `${inserted} inserted, ${advanced} advanced, ${unchanged} unchanged, ${conflicts.length} conflicts, ` +
  `${rejected.length} rejected`;

const messageFor = ({ conflicts, rejected }: FeedReport): string =>
  conflicts.length + rejected.length === 0
    ? 'Feed applied'
    : 'Feed applied, but not every line: see conflicts and rejected';
