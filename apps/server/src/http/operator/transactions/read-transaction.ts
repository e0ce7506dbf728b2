import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTransactionId } from '../../../domain/identifiers.ts';
import { type InquirySummary, supportSummary } from '../../../domain/support-summary.ts';
import type { Transaction } from '../../../domain/transaction.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { Database } from '../../../postgres/database.ts';
import { findTransactionsById } from '../../../postgres/transaction-timeline.ts';
import type { Authorize } from '../../authorize.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { ApiError } from '../../errors.ts';
import { invalidRequest, searchParameters } from '../../query-parameters.ts';
import { showsActors } from '../action-request.ts';
import { readTimelineSchema, readTransactionSchema } from './read-transaction-schema.ts';
import { textParameter } from './search-filter.ts';
import { readTimeline, type TimelineDependencies, type TimelineEntry } from './timeline.ts';
import { maskedTransactionJson } from './transaction-json.ts';

export interface ReadTransactionDependencies extends TimelineDependencies {
  readonly authorize: Authorize;
}

/** One transaction, and everything that happened to it. */
export function readTransaction(app: FastifyInstance, dependencies: ReadTransactionDependencies): void {
  const { authorize, database } = dependencies;
  const onRequest = authorize({ scope: 'operator:read' });

  app.get(
    '/operator/v1/transactions/:transaction_id',
    { onRequest, schema: readTransactionSchema },
    async (request, reply) => {
      const transaction = await findRequested(database, request);
      const { inquiries } = await readTimeline(dependencies, transaction, { showsActors: showsActors(request) });
      const summary = summaryJson(transaction, inquiries);
      const inReview = String(inquiries.inReview);
      const data = `{"transaction":${maskedTransactionJson(transaction)},"summary":${summary},"in_review":${inReview}}`;
      return sendOperatorSuccess(reply, 'Transaction found', data);
    },
  );

  app.get(
    '/operator/v1/transactions/:transaction_id/timeline',
    { onRequest, schema: readTimelineSchema },
    async (request, reply) => {
      const transaction = await findRequested(database, request);
      const { inquiries, entries } = await readTimeline(dependencies, transaction, {
        showsActors: showsActors(request),
      });
      const listed = JSON.stringify(entries.map(entryJson));
      return sendOperatorSuccess(
        reply,
        'Timeline found',
        `{"summary":${summaryJson(transaction, inquiries)},"entries":${listed}}`,
      );
    },
  );
}

/** A transaction ID is unique for its client only. @throws ApiError */
export async function findRequested(database: Database, request: FastifyRequest): Promise<Transaction> {
  const { transaction_id: transactionId } = request.params as { transaction_id: string };
  const parameters = searchParameters(request.originalUrl, ['client_id']);
  const clientId = textParameter(parameters.client_id, 'client_id');
  if (!isTransactionId(transactionId)) throw new ApiError('TRANSACTION_NOT_FOUND');
  const [transaction, other] = await findTransactionsById(database, transactionId, clientId);
  if (transaction === undefined) throw new ApiError('TRANSACTION_NOT_FOUND');
  if (other === undefined) return transaction;
  throw invalidRequest(englishOnly('several clients have a transaction with this ID: give client_id'));
}

const summaryJson = (transaction: Transaction, inquiries: InquirySummary): string =>
  JSON.stringify(supportSummary(transaction, inquiries));

const entryJson = ({ at, kind, text, facts }: TimelineEntry): Record<string, unknown> => ({
  at,
  kind,
  text: text.en,
  text_id: text.id,
  facts: Object.entries(facts).map(([name, value]) => ({ name, value })),
});
