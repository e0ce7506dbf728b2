import type { FastifyInstance } from 'fastify';
import { UPLOAD_MEDIA_TYPES } from '../../account-validations/uploads/upload.ts';
import { cancelAccountValidation } from './cancel.ts';
import { createAccountValidation } from './create.ts';
import { getAccountValidation } from './get.ts';
import { listAccountValidations } from './list.ts';
import type { AccountValidationDependencies } from './operation.ts';
import { listAccountValidationResults } from './results.ts';

/** The operations on account validations: create, list, get, results and cancel. */
export async function accountValidationOperations(
  app: FastifyInstance,
  dependencies: AccountValidationDependencies,
): Promise<void> {
  listAccountValidations(app, dependencies);
  getAccountValidation(app, dependencies);
  listAccountValidationResults(app, dependencies);
  cancelAccountValidation(app, dependencies);
  // An upload stays a buffer here; the upload reader parses it, off the event loop.
  await app.register(async (uploading) => {
    uploading.removeAllContentTypeParsers();
    uploading.addContentTypeParser([...UPLOAD_MEDIA_TYPES], { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    createAccountValidation(uploading, dependencies);
  });
}
