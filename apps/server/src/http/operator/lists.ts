import type { FastifyInstance } from 'fastify';
import { validationToJson } from '../../account-validations/to-json.ts';
import { AccountNumber } from '../../domain/account.ts';
import type { Transaction } from '../../domain/transaction.ts';
import { type AccountValidation, listRunningValidations } from '../../postgres/account-validations.ts';
import { type CallbackEndpoint, listEndpointsInTrouble, TROUBLES } from '../../postgres/callback-endpoints.ts';
import type { Database } from '../../postgres/database.ts';
import { type InquiryReview, listInquiryReviews } from '../../postgres/status-inquiries.ts';
import { listOverdue } from '../../postgres/transactions.ts';
import type { Authorize } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { oneOf, queryParameters, wholeNumber } from '../query-parameters.ts';

const LISTED_MAX = 1_000;
const LISTED_DEFAULT = 100;

/** What needs the operator's attention, over all clients. On the operator listener. */
export function operatorLists(app: FastifyInstance, gate: Authorize, database: Database): void {
  const onRequest = gate({ scope: 'operator:read' });
  const limitOf = (text: string | undefined): number =>
    wholeNumber(text, { name: 'limit', min: 1, max: LISTED_MAX, fallback: LISTED_DEFAULT });

  app.get('/operator/v1/callback-endpoints', { onRequest }, async (request, reply) => {
    const given = queryParameters(request.originalUrl, ['state', 'limit']);
    const trouble = oneOf(given.state, TROUBLES, 'state');
    const limit = limitOf(given.limit);
    const found = await listEndpointsInTrouble(database, trouble, limit + 1);
    const endpoints = found.slice(0, limit).map(endpointInTrouble);
    const data = JSON.stringify({ endpoints, has_more: found.length > limit });
    return sendSuccess(reply, 'Callback endpoints found', data);
  });

  app.get('/operator/v1/overdue', { onRequest }, async (request, reply) => {
    const limit = limitOf(queryParameters(request.originalUrl, ['limit']).limit);
    const found = await listOverdue(database, limit + 1);
    const transactions = found.slice(0, limit).map(overdueJson);
    const data = `{"transactions":[${transactions.join(',')}],"has_more":${found.length > limit}}`;
    return sendSuccess(reply, 'Overdue transactions found', data);
  });

  app.get('/operator/v1/account-validations', { onRequest }, async (request, reply) => {
    const limit = limitOf(queryParameters(request.originalUrl, ['limit']).limit);
    const found = await listRunningValidations(database, limit + 1);
    const validations = found.slice(0, limit).map(runningJson);
    const data = JSON.stringify({ validations, has_more: found.length > limit });
    return sendSuccess(reply, 'Running account validations found', data);
  });

  app.get('/operator/v1/reviews', { onRequest }, async (request, reply) => {
    const limit = limitOf(queryParameters(request.originalUrl, ['limit']).limit);
    const found = await listInquiryReviews(database, limit + 1);
    const data = JSON.stringify({
      transactions: found.slice(0, limit).map(reviewJson),
      has_more: found.length > limit,
    });
    return sendSuccess(reply, 'Transactions for review found', data);
  });
}

const runningJson = (validation: AccountValidation): Record<string, unknown> => ({
  client_id: validation.clientId,
  ...validationToJson(validation),
});

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

const endpointInTrouble = (endpoint: CallbackEndpoint): Record<string, unknown> => ({
  client_id: endpoint.clientId,
  endpoint_id: endpoint.endpointId,
  // Clients put keys of their own into paths and queries, which are nobody else's business.
  origin: new URL(endpoint.url).origin,
  status: endpoint.disabledAt === null ? 'failing' : 'disabled',
  disabled_reason: endpoint.disabledReason,
  disabled_at: endpoint.disabledAt,
  failing_since: endpoint.failingSince,
  created_at: endpoint.createdAt,
});

/** Put together as text, so that the amount stays exact. */
function overdueJson(transaction: Transaction): string {
  const before = {
    client_id: transaction.clientId,
    transaction_id: transaction.transactionId,
    reference_id: transaction.referenceId,
    bank_code: transaction.bankCode,
    bank_name: transaction.bankName,
    // Prints masked.
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
