import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Transaction } from '../../../domain/transaction.ts';
import type { Database } from '../../../postgres/database.ts';
import { recordingAction } from '../../../postgres/operator-actions.ts';
import { type InquireNowResult, NOT_ASKED } from '../../../status-inquiry/refresh-on-read.ts';
import type { StatusInquiries } from '../../../status-inquiry/status-inquiries.ts';
import type { Authorize } from '../../authorize.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { requireJson } from '../../request-body.ts';
import { actorOf, fieldsOf, reasonOf } from '../action-request.ts';
import { inquireSchema, unmaskSchema } from '../action-schemas.ts';
import { findRequested } from './read-transaction.ts';

export interface TransactionActionsDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly inquireNow: StatusInquiries['inquireNow'];
}

/** What an operator does about one transaction. Each action has a reason and is recorded. */
export function transactionActions(app: FastifyInstance, dependencies: TransactionActionsDependencies): void {
  const { authorize, database, inquireNow } = dependencies;
  const onRequest = [authorize({ scope: 'operator:write', role: 'support' }), requireJson];

  app.post(
    '/operator/v1/transactions/:transaction_id/unmask',
    { onRequest: [authorize({ scope: 'operator:unmask' }), requireJson], schema: unmaskSchema },
    async (request, reply) => {
      const reason = reasonOf(fieldsIn(request));
      const transaction = await findRequested(database, request);
      // Answered only when it is recorded.
      await recordAction(request, 'transaction unmask', transaction, reason);
      const { clientId, transactionId, accountNumber, accountName } = transaction;
      const data = {
        client_id: clientId,
        transaction_id: transactionId,
        account_number: accountNumber,
        account_name: accountName,
      };
      return sendOperatorSuccess(reply, 'Transaction unmasked', JSON.stringify(data));
    },
  );

  app.post(
    '/operator/v1/transactions/:transaction_id/inquire',
    { onRequest, schema: inquireSchema },
    async (request, reply) => {
      const reason = reasonOf(fieldsIn(request));
      const transaction = await findRequested(database, request);
      const { clientId, transactionId, rail, status } = transaction;
      const result =
        rail === null || status !== 'PROCESS' ? 'not_supported' : await inquireNow(clientId, transactionId, rail);
      const inquired = !isNotAsked(result);
      // Not before: it says that the bank was asked, which does no harm without a record.
      if (inquired) await recordAction(request, 'transaction inquire', transaction, reason);
      const after = await findRequested(database, request);
      const data = { inquired, result, status: after.status };
      return sendOperatorSuccess(
        reply,
        inquired ? 'The bank was asked' : 'The bank was not asked',
        JSON.stringify(data),
      );
    },
  );

  function recordAction(
    request: FastifyRequest,
    action: string,
    { clientId, transactionId: subjectId }: Transaction,
    reason: string,
  ): Promise<null> {
    const record = { action, clientId, subjectId, reason, before: null, after: null };
    return recordingAction(database, actorOf(request), async () => ({ result: null, record }));
  }
}

const isNotAsked = (result: InquireNowResult): boolean => NOT_ASKED.some((each) => each === result);

function fieldsIn(request: FastifyRequest): FastifyRequest {
  fieldsOf(request, ['reason']);
  return request;
}
