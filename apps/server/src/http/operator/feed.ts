import type { FastifyInstance } from 'fastify';
import type { Feed, FeedReport } from '../../feed/feed.ts';
import { DatabaseUnavailable } from '../../postgres/database.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError, unavailable } from '../errors.ts';
import { requireBodyOf } from '../request-body.ts';

/** Longer JSON would hold up everybody else while it is read: NDJSON has no such bound. */
const JSON_BYTES_MAX = 1024 * 1024;
const RETRY_AFTER_MS = 2_000;
/** A feed that falls silent is cut off; one that goes on may go on for ever. */
const IDLE_TIMEOUT_MS = 30_000;

const NDJSON = 'application/x-ndjson';

/** The feed: how the disbursement core tells Tiba about transactions. On the operator listener. */
export function receiveFeed(app: FastifyInstance, gate: Authorize, feed: Feed): void {
  app.addContentTypeParser(NDJSON, (_request, payload, done) => {
    done(null, payload);
  });

  const onRequest = [gate({ scope: 'feed:write' }), requireBodyOf('application/json', NDJSON)];
  const options = { onRequest, bodyLimit: JSON_BYTES_MAX };
  app.post('/feed/v1/transactions', options, async (request, reply) => {
    const run = feed.open(callerOf(request).client.clientId);
    try {
      if (request.headers['content-type']?.toLowerCase().startsWith(NDJSON) === true) {
        request.raw.setTimeout(IDLE_TIMEOUT_MS, () => request.raw.destroy());
        await run.readNdjson(request.raw.iterator({ destroyOnReturn: false }));
      } else if (request.body === undefined) {
        throw new ApiError('INVALID_FORMAT', { message: `Invalid format: send JSON, or ${NDJSON} for many` });
      } else {
        await run.readJson(request.body);
      }
    } catch (error) {
      // Many a core reads its answer only when it has written everything: what is still coming is read and let go.
      request.raw.resume();
      if (!(error instanceof DatabaseUnavailable)) throw error;
      throw unavailable(
        `The store cannot take the rest now (${counts(run.report)} are stored): send the whole feed again, nothing is applied twice`,
        RETRY_AFTER_MS,
        error,
      );
    }
    request.logFields = { feed: counts(run.report) };
    return sendSuccess(reply, messageFor(run.report), JSON.stringify(run.report));
  });
}

const counts = ({ inserted, advanced, unchanged, conflicts, rejected }: FeedReport): string =>
  `${inserted} inserted, ${advanced} advanced, ${unchanged} unchanged, ${conflicts.length} conflicts, ${rejected.length} rejected`;

const messageFor = ({ conflicts, rejected }: FeedReport): string =>
  conflicts.length + rejected.length === 0
    ? 'Feed applied'
    : 'Feed applied, but not every line: see conflicts and rejected';
