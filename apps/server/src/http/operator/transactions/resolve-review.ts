import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../../../lib/exact-json.ts';
import type { Database } from '../../../postgres/database.ts';
import { endInquiryReview, lockInquiryReview } from '../../../postgres/status-inquiries.ts';
import type { Authorize } from '../../authorize.ts';
import { requireJson } from '../../request-body.ts';
import { fieldsOf, reasonOf } from '../action-request.ts';
import { resolveReviewSchema } from '../action-schemas.ts';
import type { FourEyes } from '../four-eyes/four-eyes.ts';
import type { GuardedOperation } from '../four-eyes/guarded-operation.ts';
import { findRequested } from './read-transaction.ts';

export interface ResolveReviewDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly fourEyes: Pick<FourEyes, 'guard'>;
}

/** Ends the review of a transfer that its bank did not know, after a person has looked into it. */
export function resolveReview(
  app: FastifyInstance,
  { authorize, database, fourEyes }: ResolveReviewDependencies,
): void {
  const onRequest = [authorize({ scope: 'operator:write' }), requireJson];
  const run = fourEyes.guard(reviewResolve);

  app.post(
    '/operator/v1/transactions/:transaction_id/resolve-review',
    { onRequest, schema: resolveReviewSchema },
    async (request, reply) => {
      fieldsOf(request, ['reason']);
      const reason = reasonOf(request);
      const { clientId, transactionId } = await findRequested(database, request);
      return run(request, reply, {
        kinds: ['reviews'],
        change: { client_id: clientId, transaction_id: transactionId },
        reason,
        clientId,
        subjectId: transactionId,
        message: 'The transaction is not under review any more',
      });
    },
  );
}

interface ReviewResolve extends JsonObject {
  readonly client_id: string;
  readonly transaction_id: string;
}

const reviewResolve: GuardedOperation<ReviewResolve> = {
  action: 'review resolve',

  async lockState(inside, { client_id: clientId, transaction_id: transactionId }) {
    const since = await lockInquiryReview(inside, { clientId, transactionId });
    return JSON.stringify({ review_since: since });
  },

  async execute(inside, { client_id: clientId, transaction_id: transactionId }, reason) {
    const since = await endInquiryReview(inside, { clientId, transactionId });
    if (since === null) return { result: '{"resolved":false}', record: null };
    const before = JSON.stringify({ review_since: since });
    const record = { action: 'review resolve', clientId, subjectId: transactionId, reason, before, after: null };
    return { result: '{"resolved":true}', record };
  },
};
