import type { FastifyInstance } from 'fastify';
import { validationToJson } from '../../account-validations/to-json.ts';
import { storeCancellation } from '../../account-validations/validation-writes.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { sendSuccess } from '../envelope.ts';
import { allowEmptyBody } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import {
  type AccountValidationDependencies,
  found,
  operationDefaults,
  validationInPath,
  validationInPathSchema,
} from './operation.ts';
import { VALIDATION_EXAMPLE, ValidationSchema } from './schema.ts';

const CANCELLED: BilingualText = { en: 'Account validation cancelled', id: 'Validasi rekening dibatalkan' };

const schema = {
  ...operationDefaults,
  operationId: 'cancelAccountValidation',
  summary: 'Cancel a bulk validation',
  description:
    'No more accounts are checked. Inquiries that are in flight still get their results. ' +
    'A validation that has ended stays as it is.',
  params: validationInPathSchema,
  response: {
    200: successResponse(ValidationSchema, CANCELLED, 'The validation.', {
      example: { ...VALIDATION_EXAMPLE, state: 'CANCELLED', ended_at: '2026-11-21T04:32:31.402Z' },
    }),
    ...errorResponses(['INVALID_FORMAT', 'VALIDATION_NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
  },
};

const HAD_ENDED: BilingualText = { en: 'Account validation had ended', id: 'Validasi rekening sudah selesai' };

export function cancelAccountValidation(
  app: FastifyInstance,
  { authorize, database }: AccountValidationDependencies,
): void {
  const onRequest = [authorize({ scope: 'account:check', limitedOperation: 'account-validations' }), allowEmptyBody];

  app.post('/api/v1/account-validations/:validation_id/cancel', { onRequest, schema }, async (request, reply) => {
    const validation = found(await storeCancellation(database, validationInPath(request)));
    const message = validation.state === 'CANCELLED' ? CANCELLED : HAD_ENDED;
    return sendSuccess(reply, message, JSON.stringify(validationToJson(validation)));
  });
}
