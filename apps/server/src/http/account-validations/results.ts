import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { listResults } from '../../postgres/account-validation-results.ts';
import { findValidation, type ValidationKey } from '../../postgres/account-validations.ts';
import { sendSuccess } from '../envelope.ts';
import { tooManyRequests } from '../errors.ts';
import { createOpenWaits } from '../open-waits.ts';
import { oneOf, queryParameters, wholeNumber } from '../query-parameters.ts';
import { preferredType } from '../request-headers.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import type { AccountValidationDependencies } from './dependencies.ts';
import { CSV_HEADER, csvLine } from './result-csv.ts';
import type { ResultJson } from './result-json.ts';
import { createResultSerializer } from './results-json.ts';
import { operationDefaults, ValidationResultSchema, validationInPathSchema } from './schema.ts';
import { found, validationInPath } from './validation-path.ts';

const SEQUENCE_MAX = 1_000_000;
const LISTED_MAX = 1_000;
const LISTED_DEFAULT = 100;
/** A page of a long answer: between two, others have their turn. */
const STREAMED_AT_ONCE = 250;
const FOLLOW_INTERVAL_MS = 1_000;
/** Long answers of one client at a time: each asks PostgreSQL again and again. */
const FOLLOWERS_MAX = 4;
const FOLLOWERS_RETRY_AFTER_MS = 60_000;
/** A long answer ends then; whoever wants more goes on from its last sequence. */
const FOLLOW_MAX_MS = 10 * 60_000;

const STREAM_TYPES = ['application/x-ndjson', 'text/csv'] as const;

const schema = {
  ...operationDefaults,
  operationId: 'listAccountValidationResults',
  summary: 'The results of many checks, as they come',
  description:
    'As JSON, a page. With `Accept: application/x-ndjson` or `text/csv`, all there are; and with `follow=true` also those that come, until the job ends or for ten minutes: go on from the last sequence.',
  params: validationInPathSchema,
  querystring: Type.Object({
    after: Type.Optional(
      Type.Integer({ description: 'Only results after this sequence.', minimum: 0, maximum: SEQUENCE_MAX, default: 0 }),
    ),
    limit: Type.Optional(
      Type.Integer({ description: 'Of a page.', minimum: 1, maximum: LISTED_MAX, default: LISTED_DEFAULT }),
    ),
    follow: Type.Optional(Type.Enum(['true', 'false'], { default: 'false' })),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          results: Type.Array(ValidationResultSchema),
          next_after: Type.Integer({ description: 'What to give as `after` next time.', minimum: 0 }),
          has_more: Type.Boolean({ description: 'Whether there are more at the moment.' }),
        },
        { additionalProperties: false },
      ),
      'Results found',
      'The results, in the order in which they came.',
    ),
    ...errorResponses(['VALIDATION_NOT_FOUND', 'INVALID_REQUEST']),
  },
};

interface Following {
  readonly key: ValidationKey;
  readonly after: number;
  readonly follows: boolean;
}

export function readAccountValidationResults(app: FastifyInstance, dependencies: AccountValidationDependencies): void {
  const { authorize, database, banks, reauthorize, closing } = dependencies;
  const viewsOf = createResultSerializer(banks);
  const onRequest = authorize({
    scope: 'account:check',
    limitedOperation: 'account-validations',
    alternativeTypes: STREAM_TYPES,
  });
  const followers = createOpenWaits();

  app.get('/api/v1/account-validations/:validation_id/results', { onRequest, schema }, async (request, reply) => {
    const key = validationInPath(request);
    const given = queryParameters(request.originalUrl, ['after', 'limit', 'follow']);
    const after = wholeNumber(given.after, { name: 'after', min: 0, max: SEQUENCE_MAX, fallback: 0 });
    const limit = wholeNumber(given.limit, { name: 'limit', min: 1, max: LISTED_MAX, fallback: LISTED_DEFAULT });
    const follows = oneOf(given.follow, ['true', 'false'], 'follow') === 'true';
    found(await findValidation(database, key));

    const type = preferredType(request.headers.accept, STREAM_TYPES);
    if (type === null) {
      const results = await listResults(database, key, { after, limit: limit + 1 });
      const page = await viewsOf(results.slice(0, limit));
      const nextAfter = page.at(-1)?.sequence ?? after;
      const data = JSON.stringify({ results: page, next_after: nextAfter, has_more: results.length > limit });
      return sendSuccess(reply, 'Results found', data);
    }
    request.route += ' (streaming)';
    if (follows) follow(key.clientId, reply);
    const [head, line] = type === 'text/csv' ? [CSV_HEADER, csvLine] : ['', ndjsonLine];
    return reply
      .headers({ 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(Readable.from(lines(request, reply, { key, after, follows }, head, line), { objectMode: false }));
  });

  /** @throws ApiError RATE_LIMIT_EXCEEDED */
  function follow(clientId: string, reply: FastifyReply): void {
    if (followers.admit(clientId, FOLLOWERS_MAX, reply)) {
      // A bank that is down may keep it silent for longer than a listener bears otherwise.
      reply.raw.setTimeout(FOLLOW_MAX_MS);
      return;
    }
    throw tooManyRequests(
      FOLLOWERS_RETRY_AFTER_MS,
      `No more than ${FOLLOWERS_MAX} results can be followed at a time: end one, or read page by page`,
    );
  }

  async function* lines(
    request: FastifyRequest,
    reply: FastifyReply,
    { key, follows, ...from }: Following,
    head: string,
    line: (view: ResultJson) => string,
  ): AsyncGenerator<string> {
    const endMs = performance.now() + FOLLOW_MAX_MS;
    /** Who follows can go on elsewhere; who downloads gets what is there, while he is let in and the listener drains. */
    const isOver = async (): Promise<boolean> => {
      if (performance.now() > endMs || (follows && closing.aborted)) return true;
      const refusal = await reauthorize(request);
      return refusal !== null && (follows || refusal.code !== 'SERVICE_UNAVAILABLE');
    };
    let { after } = from;
    if (head !== '') yield head;
    for (;;) {
      // Looked at before the results: none comes after the last of a job that has ended by then.
      const state = (await findValidation(database, key))?.state ?? 'CANCELLED';
      for (;;) {
        const results = await listResults(database, key, { after, limit: STREAMED_AT_ONCE });
        after = results.at(-1)?.sequence ?? after;
        if (results.length > 0) yield (await viewsOf(results)).map(line).join('');
        if (results.length < STREAMED_AT_ONCE) break;
        // Whoever reads slowly comes back for the next page long after he was let in.
        if (await isOver()) {
          // Broken off, or it would look like all there are.
          if (!follows) reply.raw.destroy();
          return;
        }
      }
      if (!follows || state !== 'RUNNING' || (await isOver())) return;
      await wait(FOLLOW_INTERVAL_MS);
      if (await isOver()) return;
    }
  }
}

const ndjsonLine = (view: ResultJson): string => `${JSON.stringify(view)}\n`;
