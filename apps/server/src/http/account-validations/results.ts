import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { listResults } from '../../postgres/account-validation-results.ts';
import { findValidation } from '../../postgres/account-validations.ts';
import { sendSuccess } from '../envelope.ts';
import { cursorGone } from '../errors.ts';
import { languageOf } from '../language.ts';
import { oneOf, searchParameters, wholeNumber } from '../query-parameters.ts';
import { preferredType } from '../request-headers.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import {
  type AccountValidationDependencies,
  found,
  operationDefaults,
  validationInPath,
  validationInPathSchema,
} from './operation.ts';
import { CSV_HEADER, csvLine } from './result-csv.ts';
import { createResultSerializer } from './result-json.ts';
import { createResultStreams, STREAM_TYPES } from './result-stream.ts';
import { RESULT_EXAMPLE, ValidationResultSchema } from './schema.ts';

const SEQUENCE_MAX = 1_000_000;
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;

const MESSAGE: BilingualText = { en: 'Results found', id: 'Hasil ditemukan' };

const schema = {
  ...operationDefaults,
  operationId: 'listAccountValidationResults',
  summary: 'List or stream the results of a bulk validation',
  description:
    'As JSON, one page. With `Accept: application/x-ndjson` or `text/csv`, all results so far. With `follow=true` ' +
    'the stream also sends later results, until the validation has ended and no inquiry is in flight, or until ten ' +
    'minutes have passed. To continue, send the last sequence as `after`.',
  params: validationInPathSchema,
  querystring: Type.Object({
    after: Type.Optional(
      Type.Integer({ description: 'Only results after this sequence.', minimum: 0, maximum: SEQUENCE_MAX, default: 0 }),
    ),
    limit: Type.Optional(
      Type.Integer({ description: 'The size of a page.', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT }),
    ),
    follow: Type.Optional(
      Type.Enum(['true', 'false'], { description: '`true`: the stream waits for later results.', default: 'false' }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          results: Type.Array(ValidationResultSchema),
          next_after: Type.Integer({ description: 'Send it as `after` for the next page.', minimum: 0, examples: [1] }),
          has_more: Type.Boolean({ description: 'Whether there are more results now.' }),
        },
        { title: 'AccountValidationResultList', additionalProperties: false },
      ),
      MESSAGE,
      'The results, in the order in which they were recorded.',
      {
        alternatives: {
          'application/x-ndjson': `${JSON.stringify(RESULT_EXAMPLE)}\n`,
          'text/csv': CSV_HEADER + csvLine(RESULT_EXAMPLE),
        },
      },
    ),
    ...errorResponses(['VALIDATION_NOT_FOUND', 'INVALID_REQUEST', 'CURSOR_GONE']),
  },
};

/** A restore cancels the validations that were running, so no lost number is given again. */
const lostResults = (resultCount: number): BilingualText => ({
  en:
    `The last result of this validation has the number ${resultCount}. If you have read later ones, they were lost ` +
    `when the service was restored from a backup. Continue with after=${resultCount}, and validate the other ` +
    'accounts again',
  id:
    `Hasil terakhir validasi ini bernomor ${resultCount}. Jika Anda sudah membaca hasil setelahnya, hasil itu hilang ` +
    `saat layanan dipulihkan dari cadangan. Lanjutkan dengan after=${resultCount}, lalu validasi ulang rekening ` +
    'lainnya',
});

export function listAccountValidationResults(app: FastifyInstance, dependencies: AccountValidationDependencies): void {
  const { authorize, database, banks } = dependencies;
  const serialize = createResultSerializer(banks);
  const sendStream = createResultStreams(dependencies, serialize);
  const onRequest = authorize({
    scope: 'account:check',
    limitedOperation: 'account-validations',
    alternativeTypes: STREAM_TYPES,
  });

  app.get('/api/v1/account-validations/:validation_id/results', { onRequest, schema }, async (request, reply) => {
    const key = validationInPath(request);
    const query = searchParameters(request.originalUrl, ['after', 'limit', 'follow']);
    const after = wholeNumber(query.after, { name: 'after', min: 0, max: SEQUENCE_MAX, fallback: 0 });
    const limit = wholeNumber(query.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const follow = oneOf(query.follow, ['true', 'false'], 'follow') === 'true';
    const { resultCount } = found(await findValidation(database, key));
    if (after > resultCount) {
      const next = `/api/v1/account-validations/${key.validationId}/results?after=${resultCount}`;
      throw cursorGone(lostResults(resultCount), next);
    }

    const type = preferredType(request.headers.accept, STREAM_TYPES);
    if (type !== null) return sendStream(request, reply, { key, after, follow, type });
    const results = await listResults(database, key, { after, limit: limit + 1 });
    const page = await serialize(results.slice(0, limit), languageOf(request));
    const nextAfter = page.at(-1)?.sequence ?? after;
    const data = JSON.stringify({ results: page, next_after: nextAfter, has_more: results.length > limit });
    return sendSuccess(reply, MESSAGE, data);
  });
}
