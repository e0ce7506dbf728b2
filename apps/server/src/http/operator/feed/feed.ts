import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BATCH_AGE_MS } from '../../../feed/batches.ts';
import type { Feed, FeedRun } from '../../../feed/feed.ts';
import type { FeedReport } from '../../../feed/report.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { DatabaseUnavailable } from '../../../postgres/database.ts';
import type { Restore } from '../../../postgres/restores.ts';
import { type Authorize, callerOf } from '../../authorize.ts';
import { sendOperatorSuccess, success } from '../../envelope.ts';
import { ApiError, unavailable } from '../../errors.ts';
import { requireBodyOf } from '../../request-body.ts';
import { preferredType } from '../../request-headers.ts';
import { decompressBody, requireEncoding } from './encoding.ts';
import { discardRest, readAtPace } from './pace.ts';
import { sendWithProgress } from './progress.ts';
import { feedSchema } from './schema.ts';

/** Parsing longer JSON would delay all other requests. NDJSON is read line by line and has no such limit. */
const JSON_BYTES_MAX = 1024 * 1024;
const RETRY_AFTER_MS = 2_000;
/**
 * While Tiba waits for it, a feed must complete a line within this time, or it is disconnected. A feed that keeps this
 * pace has no time limit.
 */
const LINE_TIMEOUT_MS = 30_000;

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

  const onRequest = [
    authorize({ scope: 'feed:write', alternativeTypes: [NDJSON] }),
    requireBodyOf('application/json', NDJSON),
    requireEncoding,
  ];
  const body = { preParsing: decompressBody, bodyLimit: JSON_BYTES_MAX, config: { streamedType: NDJSON } };
  app.post('/feed/v1/transactions', { onRequest, ...body, schema: feedSchema }, async (request, reply) => {
    const run = feed.open(callerOf(request).client.clientId, request.span);
    const received = receive(request, run);
    if (preferredType(request.headers.accept, [NDJSON]) === null) {
      await received;
      return sendOperatorSuccess(reply, messageFor(run), reportJson(run.report, latestRestore()));
    }
    const result = received.then(() =>
      success('en', englishOnly(messageFor(run)), reportJson(run.report, latestRestore())),
    );
    return sendWithProgress(reply, run, { result, failed: (error) => app.errorAnswer(error, request).body });
  });

  async function receive(request: FastifyRequest, run: FeedRun): Promise<void> {
    try {
      if (request.headers['content-type']?.toLowerCase().startsWith(NDJSON) === true) {
        app.pacedRequests.add(request.raw);
        // An empty body is not parsed.
        const body = request.body instanceof Readable ? request.body : request.raw;
        await run.readNdjson(readAtPace(body, { lineTimeoutMs, pauseMs: BATCH_AGE_MS }));
      } else if (request.body === undefined) {
        throw new ApiError('INVALID_FORMAT', {
          message: englishOnly(`Invalid format: the body is empty; send JSON, or ${NDJSON} for many updates`),
        });
      } else {
        await run.readJson(request.body);
      }
    } catch (error) {
      discardRest(request.raw);
      throw toApiError(error, run, lineTimeoutMs);
    } finally {
      request.logFields = { feed: counts(run) };
    }
  }
}

function toApiError(error: unknown, run: FeedRun, lineTimeoutMs: number): unknown {
  if (error instanceof ApiError && error.code === 'REQUEST_TIMEOUT') {
    const message = englishOnly(
      `The feed completed no line for ${lineTimeoutMs / 1000} s (stored so far: ${counts(run)}): ` +
        'send the whole feed again, nothing is applied twice',
    );
    // The core may still read, so it is answered. The connection closes with the answer, and ends the reading.
    return new ApiError(error.code, { message, headers: { connection: 'close' } });
  }
  if (!(error instanceof DatabaseUnavailable)) return error;
  const message = englishOnly(
    `the database cannot take the rest now (stored so far: ${counts(run)}). Send the whole feed again, ` +
      'nothing is applied twice',
  );
  return unavailable(message, RETRY_AFTER_MS, error);
}

/** A core that sees another `restored_at` than before feeds again what the restore has lost. */
const reportJson = (report: FeedReport, restore: Restore | null): string =>
  JSON.stringify({ ...report, restored_at: restore?.restoredAt ?? null, restored_to: restore?.restoredTo ?? null });

/** Not of the report, which lists only some of the conflicts and rejected lines. */
function counts(run: FeedRun): string {
  const { inserted, advanced, unchanged, conflicts, rejected } = run.progress();
  return (
    `${inserted} inserted, ${advanced} advanced, ${unchanged} unchanged, ${conflicts} conflicts, ` +
    `${rejected} rejected`
  );
}

function messageFor(run: FeedRun): string {
  const { inserted, advanced, unchanged, conflicts, rejected } = run.progress();
  if (conflicts + rejected === 0) return 'Feed applied';
  const isAnyApplied = inserted + advanced + unchanged > 0;
  return isAnyApplied
    ? 'Feed applied, but not every line: see conflicts and rejected'
    : 'No line was applied: see conflicts and rejected';
}
