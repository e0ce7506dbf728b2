import type { FastifyInstance } from 'fastify';
import type { Database } from '../../postgres/database.ts';
import { recordingAction } from '../../postgres/operator-actions.ts';
import { endInquiryReview } from '../../postgres/status-inquiries.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { requireJson } from '../request-body.ts';
import { actorOf, fieldsOf, reasonOf } from './action-request.ts';
import { resolveReviewSchema } from './action-schemas.ts';
import { findRequested } from './read-transaction.ts';

/** Ends the review of a transfer that its bank did not know, after a person has looked into it. */
export function resolveReview(app: FastifyInstance, authorize: Authorize, database: Database): void {
  const onRequest = [authorize({ scope: 'operator:write' }), requireJson];

  app.post(
    '/operator/v1/transactions/:transaction_id/resolve-review',
    { onRequest, schema: resolveReviewSchema },
    async (request, reply) => {
      fieldsOf(request, ['reason']);
      const reason = reasonOf(request);
      const { clientId, transactionId } = await findRequested(database, request);
      const isResolved = await recordingAction(database, actorOf(request), async (inside) => {
        const since = await endInquiryReview(inside, { clientId, transactionId });
        if (since === null) return { result: false, record: null };
        const before = JSON.stringify({ review_since: since });
        const record = { action: 'review resolve', clientId, subjectId: transactionId, reason, before, after: null };
        return { result: true, record };
      });
      const message = isResolved ? 'Review ended' : 'The transaction is not under review';
      return sendOperatorSuccess(reply, message, JSON.stringify({ resolved: isResolved }));
    },
  );
}
