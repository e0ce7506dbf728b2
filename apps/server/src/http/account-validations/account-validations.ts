import type { FastifyInstance } from 'fastify';
import { UPLOAD_MEDIA_TYPES } from '../../account-validations/uploads/upload.ts';
import { cancelAccountValidation } from './cancel.ts';
import { createAccountValidation } from './create.ts';
import type { AccountValidationDependencies } from './dependencies.ts';
import { readAccountValidations } from './read.ts';
import { readAccountValidationResults } from './results.ts';

/** Many accounts checked at once: a job, how far it is, what came of it, and its end. */
export async function accountValidationOperations(
  app: FastifyInstance,
  dependencies: AccountValidationDependencies,
): Promise<void> {
  readAccountValidations(app, dependencies);
  readAccountValidationResults(app, dependencies);
  cancelAccountValidation(app, dependencies);
  // What is sent is read elsewhere, off the event loop: here it stays bytes.
  await app.register(async (uploading) => {
    uploading.removeAllContentTypeParsers();
    uploading.addContentTypeParser([...UPLOAD_MEDIA_TYPES], { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    createAccountValidation(uploading, dependencies);
  });
}
