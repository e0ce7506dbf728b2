import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Feed, FeedReport } from '../../feed/feed.ts';
import { DatabaseUnavailable } from '../../postgres/database.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError, unavailable } from '../errors.ts';
import { requireBodyOf } from '../request-body.ts';

/** Parsing longer JSON would delay all other requests. NDJSON is read line by line and has no such limit. */
const JSON_BYTES_MAX = 1024 * 1024;
const RETRY_AFTER_MS = 2_000;
/** A feed that sends nothing for this long is ended. A feed that goes on sending has no time limit. */
const IDLE_TIMEOUT_MS = 30_000;

const NDJSON = 'application/x-ndjson';

/** The feed: the disbursement core sends Tiba its transactions and their status updates (docs/feed.md). */
export function receiveFeed(
  app: FastifyInstance,
  authorize: Authorize,
  feed: Feed,
  idleTimeoutMs = IDLE_TIMEOUT_MS,
): void {
  app.addContentTypeParser(NDJSON, (_request, payload, done) => {
    done(null, payload);
  });

  const onRequest = [authorize({ scope: 'feed:write' }), requireBodyOf('application/json', NDJSON)];
  const options = { onRequest, bodyLimit: JSON_BYTES_MAX };
  app.post('/feed/v1/transactions', options, async (request, reply) => {
    const run = feed.open(callerOf(request).client.clientId);
    try {
      if (request.headers['content-type']?.toLowerCase().startsWith(NDJSON) === true) {
        const lines = request.raw.iterator({ destroyOnReturn: false });
        await Promise.race([run.readNdjson(lines), rejectWhenIdle(request, idleTimeoutMs, run.report)]);
      } else if (request.body === undefined) {
        throw new ApiError('INVALID_FORMAT', {
          message: `Invalid format: the body is empty; send JSON, or ${NDJSON} for many updates`,
        });
      } else {
        await run.readJson(request.body);
      }
    } catch (error) {
      // Many clients read the answer only after they have sent everything, so the rest of the body is read and
      // discarded.
      request.raw.resume();
      if (!(error instanceof DatabaseUnavailable)) throw error;
      throw unavailable(
        `The database cannot take the rest now (stored so far: ${counts(run.report)}): send the whole feed again, ` +
          'nothing is applied twice',
        RETRY_AFTER_MS,
        error,
      );
    }
    request.logFields = { feed: counts(run.report) };
    return sendSuccess(reply, messageFor(run.report), JSON.stringify(run.report));
  });
}

/** The core may still read, so it is answered. The connection closes with the answer, and ends the reading. */
function rejectWhenIdle({ raw }: FastifyRequest, idleTimeoutMs: number, report: FeedReport): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  raw.setTimeout(idleTimeoutMs, () => {
    const message =
      `The feed sent nothing for ${idleTimeoutMs / 1000} s (stored so far: ${counts(report)}): ` +
      'send the whole feed again, nothing is applied twice';
    reject(new ApiError('REQUEST_TIMEOUT', { message, headers: { connection: 'close' } }));
  });
  return promise;
}

const counts = ({ inserted, advanced, unchanged, conflicts, rejected }: FeedReport): string =>
  `${inserted} inserted, ${advanced} advanced, ${unchanged} unchanged, ${conflicts.length} conflicts, ` +
  `${rejected.length} rejected`;

const messageFor = ({ conflicts, rejected }: FeedReport): string =>
  conflicts.length + rejected.length === 0
    ? 'Feed applied'
    : 'Feed applied, but not every line: see conflicts and rejected';
