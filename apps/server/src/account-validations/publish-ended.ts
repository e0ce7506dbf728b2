import type { AccountValidation } from '../postgres/account-validations.ts';
import type { Query } from '../postgres/database.ts';
import { insertEvents } from '../postgres/events.ts';
import { validationToJson } from './to-json.ts';

/** Tells the clients that nothing more will come of these jobs. Call it last in a database transaction. */
export function publishEnded(query: Query, ended: readonly AccountValidation[]): Promise<void> {
  return insertEvents(
    query,
    ended.map((validation) => ({
      clientId: validation.clientId,
      subjectId: validation.validationId,
      version: 1,
      kind: 'account_validation.ended',
      occurredAt: validation.endedAt ?? validation.createdAt,
      data: JSON.stringify(validationToJson(validation)),
    })),
  );
}
