import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { AccountChecks } from '../../account-checks/account-checks.ts';
import type { UploadReader } from '../../account-validations/uploads/upload-reader.ts';
import { isValidationId } from '../../domain/account-validation.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Span } from '../../observability/tracing/tracing.ts';
import type { ValidationKey } from '../../postgres/account-validations.ts';
import type { Database } from '../../postgres/database.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import { type Authorize, callerOf, type Reauthorize } from '../authorize.ts';
import { ApiError, foundOr } from '../errors.ts';
import type { OpenWaits } from '../open-waits.ts';
import { accessToken } from '../schemas.ts';
import { ValidationId } from './schema.ts';

/** What the operations on account validations depend on. */
export interface AccountValidationDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly accountChecks: Pick<AccountChecks, 'pauseForValidation'>;
  /** PostgreSQL's time: milliseconds since 1970. */
  readonly now: () => number;
  readonly uploads: Pick<UploadReader, 'read'>;
  readonly inquiries: Pick<AccountInquiries, 'snapshot'>;
  /** Authorizes the caller of a stream again, while it is open. */
  readonly reauthorize: Reauthorize;
  /** Counts the streams of each client that follow results. */
  readonly openStreams: OpenWaits;
  /** Called when a validation was created. `span` is the request that created it, if it is traced. */
  readonly onCreated: (validation: ValidationKey, span: Span | undefined) => void;
  /** Aborted when the service closes: streams end. */
  readonly closing: AbortSignal;
}

/** The part of the OpenAPI description that all operations have in common. */
export const operationDefaults = { tags: ['Account validation'], security: accessToken('account:check') };

export const validationInPathSchema = Type.Object({ validation_id: ValidationId });

/** The key of the caller's validation with the ID in the path. @throws ApiError VALIDATION_NOT_FOUND if malformed */
export function validationInPath(request: FastifyRequest): ValidationKey {
  const { validation_id: validationId = '' } = request.params as { readonly validation_id?: string };
  if (!isValidationId(validationId)) throw new ApiError('VALIDATION_NOT_FOUND');
  request.logFields = { validation: validationId };
  return { clientId: callerOf(request).client.clientId, validationId };
}

/** @throws ApiError VALIDATION_NOT_FOUND: the same for another client's validation as for one that does not exist */
export const found = foundOr('VALIDATION_NOT_FOUND');
