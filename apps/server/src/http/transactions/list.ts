import type { FastifyInstance } from 'fastify';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Database } from '../../postgres/database.ts';
import { type ListPosition, listTransactions } from '../../postgres/transaction-list.ts';
import { type Authorize, callerOf, type Reauthorize } from '../authorize.ts';
import { renderedIn } from '../check-status/transaction-answer.ts';
import { type CursorScope, type Cursors, linkToNext } from '../cursors.ts';
import { sendSuccess } from '../envelope.ts';
import { languageOf } from '../language.ts';
import type { OpenWaits } from '../open-waits.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../pages.ts';
import { searchParameters, wholeNumber } from '../query-parameters.ts';
import { preferredType } from '../request-headers.ts';
import { createTransactionExports, EXPORT_TYPES } from './export.ts';
import { FILTER_PARAMETERS, readTransactionFilter } from './filter.ts';
import { listTransactionsSchema, TRANSACTIONS_FOUND } from './schema.ts';

export interface ListTransactionsDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly cursors: Cursors;
  /** Checks, while an export is sent, that its caller is still authorized. */
  readonly reauthorize: Reauthorize;
  /** Counts the exports of each client. */
  readonly openExports: OpenWaits;
}

/** docs/contract.md 4.5. */
export function listTransactionsOperation(app: FastifyInstance, dependencies: ListTransactionsDependencies): void {
  const { authorize, database, banks, cursors } = dependencies;
  const sendExport = createTransactionExports(dependencies);
  const onRequest = authorize({
    scope: 'transactions:read',
    limitedOperation: 'transactions',
    alternativeTypes: EXPORT_TYPES,
  });

  app.get('/api/v1/transactions', { onRequest, schema: listTransactionsSchema }, async (request, reply) => {
    const { clientId } = callerOf(request).client;
    const parameters = searchParameters(request.originalUrl, [...FILTER_PARAMETERS, 'limit', 'cursor']);
    const filter = readTransactionFilter(parameters, banks);
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const scope: CursorScope = { list: 'transactions', clientId, filter };
    const after = parameters.cursor === undefined ? null : positionOf(cursors.read(scope, parameters.cursor));
    const filters = FILTER_PARAMETERS.filter((name) => parameters[name] !== undefined);

    const type = preferredType(request.headers.accept, EXPORT_TYPES);
    if (type !== null) {
      request.logFields = { filters };
      return sendExport(request, reply, { clientId, filter, after, type });
    }
    const { transactions, next } = await listTransactions(database, clientId, filter, { after, limit });
    request.logFields = { filters, transactions: transactions.length };
    const cursor = next === null ? null : cursors.issue(scope, [next.at, next.transactionId]);
    if (cursor !== null) reply.header('link', linkToNext(request.originalUrl, cursor));
    const end = `"next_cursor":${JSON.stringify(cursor)},"has_more":${cursor !== null}`;
    // The transactions are copied as they were rendered, so that their amounts stay exact.
    const language = languageOf(request);
    const items = transactions.map((rendered) => renderedIn(language, rendered)).join();
    return sendSuccess(reply, TRANSACTIONS_FOUND, `{"transactions":[${items}],${end}}`);
  });
}

const positionOf = ([at = '', transactionId = '']: readonly string[]): ListPosition => ({ at, transactionId });
