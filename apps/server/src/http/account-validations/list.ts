import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { validationToJson } from '../../account-validations/to-json.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { listValidations } from '../../postgres/account-validations.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { searchParameters, wholeNumber } from '../query-parameters.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import { type AccountValidationDependencies, operationDefaults } from './operation.ts';
import { ValidationSchema } from './schema.ts';

const LIMIT_MAX = 100;
const LIMIT_DEFAULT = 20;

const MESSAGE: BilingualText = { en: 'Account validations found', id: 'Validasi rekening ditemukan' };

const schema = {
  ...operationDefaults,
  operationId: 'listAccountValidations',
  summary: 'List your bulk validations',
  description: 'The latest ones, running or ended.',
  querystring: Type.Object({
    limit: Type.Optional(
      Type.Integer({
        description: 'The maximum number of validations.',
        minimum: 1,
        maximum: LIMIT_MAX,
        default: LIMIT_DEFAULT,
      }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        { validations: Type.Array(ValidationSchema) },
        { title: 'AccountValidationList', additionalProperties: false },
      ),
      MESSAGE,
      'The newest first. Validations are deleted some days after they have ended.',
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};

export function listAccountValidations(
  app: FastifyInstance,
  { authorize, database }: AccountValidationDependencies,
): void {
  const onRequest = authorize({ scope: 'account:check', limitedOperation: 'account-validations' });

  app.get('/api/v1/account-validations', { onRequest, schema }, async (request, reply) => {
    const { limit: text } = searchParameters(request.originalUrl, ['limit']);
    const limit = wholeNumber(text, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const validations = await listValidations(database, callerOf(request).client.clientId, limit);
    const data = JSON.stringify({ validations: validations.map(validationToJson) });
    return sendSuccess(reply, MESSAGE, data);
  });
}
