import type { FastifyInstance } from 'fastify';
import { validationToJson } from '../../account-validations/to-json.ts';
import { bankCodeOf } from '../../domain/bank.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { countRowsInFlight, countWaitingAccounts } from '../../postgres/account-validation-rows.ts';
import { type AccountValidation, findValidation } from '../../postgres/account-validations.ts';
import { bankHealths, HEALTHY } from '../../rails/bank-status.ts';
import { sendSuccess } from '../envelope.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import {
  type AccountValidationDependencies,
  found,
  operationDefaults,
  validationInPath,
  validationInPathSchema,
} from './operation.ts';
import { ValidationProgressSchema } from './schema.ts';

const MESSAGE: BilingualText = { en: 'Account validation found', id: 'Validasi rekening ditemukan' };

const schema = {
  ...operationDefaults,
  operationId: 'getAccountValidation',
  summary: "Get a bulk validation's progress",
  description: 'How many rows have a result, and what the others wait for.',
  params: validationInPathSchema,
  response: {
    200: successResponse(ValidationProgressSchema, MESSAGE, 'The validation, and the banks for which it waits.'),
    ...errorResponses(['VALIDATION_NOT_FOUND']),
  },
};

export function getAccountValidation(app: FastifyInstance, dependencies: AccountValidationDependencies): void {
  const { authorize, database, banks, inquiries } = dependencies;
  const onRequest = authorize({ scope: 'account:check', limitedOperation: 'account-validations' });

  app.get('/api/v1/account-validations/:validation_id', { onRequest, schema }, async (request, reply) => {
    const key = validationInPath(request);
    const validation = found(await findValidation(database, key));
    const waiting = validation.state === 'RUNNING' ? await countWaitingAccounts(database, key) : [];
    const inFlight = validation.state === 'COMPLETED' ? 0 : await countRowsInFlight(database, key);
    const healths = bankHealths(inquiries.snapshot());
    const data = {
      ...validationToJson(validation),
      seconds_left: secondsLeft(validation),
      in_flight: inFlight,
      waiting: waiting.map(({ bic, accounts }) => {
        const bank = banks.find(bic);
        const { status } = healths.get(bic) ?? HEALTHY;
        return {
          bank_code: bank === null ? bic : bankCodeOf(bank),
          bank_name: bank?.name ?? bic,
          accounts,
          bank_status: status,
        };
      }),
    };
    return sendSuccess(reply, MESSAGE, JSON.stringify(data));
  });
}

/** An estimate that assumes the average pace so far for the remaining rows. */
function secondsLeft({ state, rowCount, resultCount, createdAt }: AccountValidation): number | null {
  if (state !== 'RUNNING' || resultCount === 0) return null;
  const elapsedSeconds = (Date.now() - Date.parse(createdAt)) / 1000;
  return Math.max(Math.ceil((elapsedSeconds / resultCount) * (rowCount - resultCount)), 0);
}
