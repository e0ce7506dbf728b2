import type { FastifyInstance } from 'fastify';
import { validationToJson } from '../../account-validations/to-json.ts';
import { type AccountValidation, listRunningValidations } from '../../postgres/account-validations.ts';
import type { Database } from '../../postgres/database.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { listLimit, searchParameters } from '../query-parameters.ts';
import { runningValidationsSchema } from './list-schemas.ts';

/** Lists the running account validations of all clients. */
export function listAccountValidations(app: FastifyInstance, authorize: Authorize, database: Database): void {
  const onRequest = authorize({ scope: 'operator:read' });

  app.get(
    '/operator/v1/account-validations',
    { onRequest, schema: runningValidationsSchema },
    async (request, reply) => {
      const limit = listLimit(searchParameters(request.originalUrl, ['limit']).limit);
      const found = await listRunningValidations(database, limit + 1);
      const validations = found.slice(0, limit).map(validationJson);
      const data = JSON.stringify({ validations, has_more: found.length > limit });
      return sendOperatorSuccess(reply, 'Running account validations found', data);
    },
  );
}

const validationJson = (validation: AccountValidation): Record<string, unknown> => ({
  client_id: validation.clientId,
  ...validationToJson(validation),
});
