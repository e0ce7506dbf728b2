import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { validationToJson } from '../../account-validations/to-json.ts';
import { countWaitingAccounts } from '../../postgres/account-validation-rows.ts';
import { type AccountValidation, findValidation, listValidations } from '../../postgres/account-validations.ts';
import { bankHealths, HEALTHY } from '../../rails/bank-status.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { queryParameters, wholeNumber } from '../query-parameters.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import type { AccountValidationDependencies } from './dependencies.ts';
import { operationDefaults, ValidationProgressSchema, ValidationSchema, validationInPathSchema } from './schema.ts';
import { found, validationInPath } from './validation-path.ts';

const LISTED_MAX = 100;
const LISTED_DEFAULT = 20;

const oneSchema = {
  ...operationDefaults,
  operationId: 'getAccountValidation',
  summary: 'How far many checks are',
  params: validationInPathSchema,
  response: {
    200: successResponse(ValidationProgressSchema, 'Account validation found', 'The job, and what it waits for.'),
    ...errorResponses(['VALIDATION_NOT_FOUND']),
  },
};

const listSchema = {
  ...operationDefaults,
  operationId: 'listAccountValidations',
  summary: 'List your jobs of many checks',
  querystring: Type.Object({
    limit: Type.Optional(
      Type.Integer({ description: 'How many at the most.', minimum: 1, maximum: LISTED_MAX, default: LISTED_DEFAULT }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object({ validations: Type.Array(ValidationSchema) }, { additionalProperties: false }),
      'Account validations found',
      'The latest first. Those that ended some days ago are forgotten.',
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};

export function readAccountValidations(app: FastifyInstance, dependencies: AccountValidationDependencies): void {
  const { authorize, database, banks, inquiries } = dependencies;
  const onRequest = authorize({ scope: 'account:check', limitedOperation: 'account-validations' });

  app.get('/api/v1/account-validations', { onRequest, schema: listSchema }, async (request, reply) => {
    const { limit: given } = queryParameters(request.originalUrl, ['limit']);
    const limit = wholeNumber(given, { name: 'limit', min: 1, max: LISTED_MAX, fallback: LISTED_DEFAULT });
    const validations = await listValidations(database, callerOf(request).client.clientId, limit);
    const data = JSON.stringify({ validations: validations.map(validationToJson) });
    return sendSuccess(reply, 'Account validations found', data);
  });

  app.get('/api/v1/account-validations/:validation_id', { onRequest, schema: oneSchema }, async (request, reply) => {
    const key = validationInPath(request);
    const validation = found(await findValidation(database, key));
    const waiting = validation.state === 'RUNNING' ? await countWaitingAccounts(database, key) : [];
    const healths = bankHealths(inquiries.snapshot());
    const data = {
      ...validationToJson(validation),
      seconds_left: secondsLeft(validation),
      waiting: waiting.map(({ bic, accounts }) => {
        const bank = banks.find(bic);
        const { status } = healths.get(bic) ?? HEALTHY;
        return { bank_code: bank?.clearingCode ?? bic, bank_name: bank?.name ?? bic, accounts, bank_status: status };
      }),
    };
    return sendSuccess(reply, 'Account validation found', JSON.stringify(data));
  });
}

/** As if the rest went on as all has gone so far. */
function secondsLeft({ state, rowCount, resultCount, createdAt }: AccountValidation): number | null {
  if (state !== 'RUNNING' || resultCount === 0) return null;
  const elapsedSeconds = (Date.now() - Date.parse(createdAt)) / 1000;
  return Math.max(Math.ceil((elapsedSeconds / resultCount) * (rowCount - resultCount)), 0);
}
