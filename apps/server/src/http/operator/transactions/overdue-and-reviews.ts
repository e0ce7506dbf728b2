import type { FastifyInstance } from 'fastify';
import { AccountNumber } from '../../../domain/account.ts';
import type { Transaction } from '../../../domain/transaction.ts';
import type { Database } from '../../../postgres/database.ts';
import { type InquiryReview, listInquiryReviews } from '../../../postgres/status-inquiries.ts';
import { listOverdue } from '../../../postgres/transactions.ts';
import type { Authorize } from '../../authorize.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { listLimit, searchParameters } from '../../query-parameters.ts';
import { overdueSchema, reviewsSchema } from '../list-schemas.ts';

/**
 * Transactions that need the operator's attention, over all clients: overdue ones, and ones whose bank cannot find
 * them.
 */
export function listTransactions(app: FastifyInstance, authorize: Authorize, database: Database): void {
  const onRequest = authorize({ scope: 'operator:read' });

  app.get('/operator/v1/overdue', { onRequest, schema: overdueSchema }, async (request, reply) => {
    const limit = listLimit(searchParameters(request.originalUrl, ['limit']).limit);
    const found = await listOverdue(database, limit + 1);
    const transactions = found.slice(0, limit).map(overdueJson);
    const data = `{"transactions":[${transactions.join(',')}],"has_more":${found.length > limit}}`;
    return sendOperatorSuccess(reply, 'Overdue transactions found', data);
  });

  app.get('/operator/v1/reviews', { onRequest, schema: reviewsSchema }, async (request, reply) => {
    const limit = listLimit(searchParameters(request.originalUrl, ['limit']).limit);
    const found = await listInquiryReviews(database, limit + 1);
    const data = JSON.stringify({
      transactions: found.slice(0, limit).map(reviewJson),
      has_more: found.length > limit,
    });
    return sendOperatorSuccess(reply, 'Transactions for review found', data);
  });
}

const reviewJson = (review: InquiryReview): Record<string, unknown> => ({
  client_id: review.clientId,
  transaction_id: review.transactionId,
  rail: review.rail,
  rail_reference: review.railReference,
  created_at: review.createdAt,
  unknown_since: review.unknownSince,
  review_since: review.reviewSince,
  last_inquired_at: review.lastInquiredAt,
});

/** Assembled as text, so that the amount stays exact. */
function overdueJson(transaction: Transaction): string {
  const before = {
    client_id: transaction.clientId,
    transaction_id: transaction.transactionId,
    reference_id: transaction.referenceId,
    bank_code: transaction.bankCode,
    bank_name: transaction.bankName,
    // Its JSON is masked.
    account_number: AccountNumber.parse(transaction.accountNumber),
  };
  const after = {
    currency: transaction.currency,
    created_at: transaction.createdAt,
    expected_by: transaction.expectedBy,
    overdue_since: transaction.overdueSince,
  };
  return `${JSON.stringify(before).slice(0, -1)},"amount":${transaction.amount},${JSON.stringify(after).slice(1)}`;
}
