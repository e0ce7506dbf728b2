import type { FastifyRequest } from 'fastify';
import { isValidationId } from '../../domain/account-validation.ts';
import type { ValidationKey } from '../../postgres/account-validations.ts';
import { callerOf } from '../authorize.ts';
import { ApiError, foundOr } from '../errors.ts';

/** The job that the path names, as one of the caller's. @throws ApiError VALIDATION_NOT_FOUND for what cannot be one. */
export function validationInPath(request: FastifyRequest): ValidationKey {
  const { validation_id: validationId = '' } = request.params as { readonly validation_id?: string };
  if (!isValidationId(validationId)) throw new ApiError('VALIDATION_NOT_FOUND');
  request.logFields = { validation: validationId };
  return { clientId: callerOf(request).client.clientId, validationId };
}

/** @throws ApiError VALIDATION_NOT_FOUND: for another client's job as for none. */
export const found = foundOr('VALIDATION_NOT_FOUND');
