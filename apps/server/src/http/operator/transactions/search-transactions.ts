import type { FastifyInstance } from 'fastify';
import type { HashAccount } from '../../../account-checks/account-hash.ts';
import { type BankDirectory, parseAccountNumber } from '../../../domain/bank.ts';
import { isReferenceId } from '../../../domain/identifiers.ts';
import type { Transaction } from '../../../domain/transaction.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { type AccountCheck, findAccountChecksByRequest } from '../../../postgres/account-checks.ts';
import type { Database } from '../../../postgres/database.ts';
import {
  IDENTIFIERS,
  type SearchFilter,
  type SearchPosition,
  searchTransactions,
} from '../../../postgres/transaction-search.ts';
import { type Authorize, callerOf } from '../../authorize.ts';
import { type CursorScope, type Cursors, linkToNext } from '../../cursors.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../pages.ts';
import { invalidRequest, searchParameters, wholeNumber } from '../../query-parameters.ts';
import { checkJson } from '../account-checks.ts';
import type { OperatorLimits } from '../operator-limits.ts';
import {
  amountSearch,
  assertOneSubject,
  readSearchFilter,
  readSearchKey,
  SEARCH_PARAMETERS,
  type Search,
  type SearchParameters,
  textParameter,
} from './search-filter.ts';
import { type FoundBy, searchTransactionsSchema } from './search-schema.ts';
import { readSearchText } from './search-text.ts';
import { maskedTransactionJson } from './transaction-json.ts';

export interface SearchTransactionsDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly hashAccount: HashAccount;
  readonly cursors: Cursors;
  readonly limits: Pick<OperatorLimits, 'countAccountSearch'>;
}

interface Found {
  readonly by: FoundBy;
  readonly transactions: readonly Transaction[];
  readonly checks: readonly AccountCheck[];
  readonly next: SearchPosition | null;
}

/** One way to understand what is looked for. */
interface Reading {
  readonly by: FoundBy;
  search(after: SearchPosition | null, limit: number): Promise<Omit<Found, 'by'>>;
}

/**
 * Searches the transactions of all clients. `q` takes anything that identifies one: it is looked up in each way that
 * its form allows, and the first way that finds something answers.
 */
export function searchAllTransactions(app: FastifyInstance, dependencies: SearchTransactionsDependencies): void {
  const { authorize, banks, cursors, limits } = dependencies;
  const onRequest = authorize({ scope: 'operator:read' });
  const createReadings = readingsOf(dependencies);

  app.get('/operator/v1/transactions', { onRequest, schema: searchTransactionsSchema }, async (request, reply) => {
    const parameters = searchParameters(request.originalUrl, [...SEARCH_PARAMETERS, 'limit', 'cursor']);
    assertOneSubject(parameters);
    const filter = readSearchFilter(parameters, banks);
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const readings = createReadings(parameters, filter);
    const { cursor: _cursor, limit: _limit, ...given } = parameters;
    const { clientId } = callerOf(request).client;
    const scope: CursorScope = {
      list: 'operator-transactions',
      clientId,
      filter: SEARCH_PARAMETERS.map((name) => given[name] ?? null),
    };

    const [by, ...position] = parameters.cursor === undefined ? [] : cursors.read(scope, parameters.cursor);
    // A further page guesses nothing: its cursor is signed for the same filters.
    const isByAccount = filter.accountNumbers !== null || readings.some((each) => each.by === 'account_number');
    if (isByAccount && by === undefined) await limits.countAccountSearch(request);
    const { found, alsoFoundBy } =
      by === undefined ? await firstOf(readings, limit) : await continued(readings, by, positionOf(position), limit);
    request.logFields = {
      filters: SEARCH_PARAMETERS.filter((name) => parameters[name] !== undefined),
      transactions: found?.transactions.length ?? 0,
    };
    const next = found?.next ?? null;
    const cursor = found === null || next === null ? null : cursors.issue(scope, [found.by, ...Object.values(next)]);
    if (cursor !== null) reply.header('link', linkToNext(request.originalUrl, cursor));
    const before = JSON.stringify({ found_by: found?.by ?? null, also_found_by: alsoFoundBy }).slice(0, -1);
    const transactions = (found?.transactions ?? []).map(maskedTransactionJson).join();
    const after = JSON.stringify({
      account_checks: (found?.checks ?? []).map(checkJson),
      next_cursor: cursor,
      has_more: cursor !== null,
    }).slice(1);
    return sendOperatorSuccess(reply, 'Search completed', `${before},"transactions":[${transactions}],${after}`);
  });
}

const positionOf = ([createdAt = '', amount = '', transactionId = '', clientId = '']: readonly string[]) => ({
  createdAt,
  amount,
  transactionId,
  clientId,
});

interface Answer {
  /** Null when nothing was found. */
  readonly found: Found | null;
  /** Other readings of the same text that find something. */
  readonly alsoFoundBy: readonly FoundBy[];
}

/** All at once: what a search waits for is mostly the disk. */
async function firstOf(readings: readonly Reading[], limit: number): Promise<Answer> {
  const results = await Promise.all(
    readings.map(async ({ by, search }): Promise<Found> => ({ by, ...(await search(null, limit)) })),
  );
  const isSomething = ({ transactions, checks }: Found): boolean => transactions.length > 0 || checks.length > 0;
  // A single reading may have more although its first page is empty.
  const found = results.find((each) => results.length === 1 || isSomething(each)) ?? null;
  const others = results.filter((each) => each !== found && isSomething(each));
  return { found, alsoFoundBy: others.map(({ by }) => by) };
}

async function continued(
  readings: readonly Reading[],
  by: string,
  after: SearchPosition,
  limit: number,
): Promise<Answer> {
  const reading = readings.find((each) => each.by === by);
  if (reading === undefined) throw new Error('a cursor names a way to search that its parameters do not have');
  return { found: { by: reading.by, ...(await reading.search(after, limit)) }, alsoFoundBy: [] };
}

function readingsOf({ database, banks, hashAccount }: SearchTransactionsDependencies) {
  const bySearch = (by: FoundBy, { key, filter }: Search): Reading => ({
    by,
    async search(after, limit) {
      const { transactions, next } = await searchTransactions(database, key, filter, { after, limit });
      return { transactions, next, checks: [] };
    },
  });

  const byRequest = (requestId: string, filter: SearchFilter): Reading => ({
    by: 'request_id',
    async search() {
      const checks = await findAccountChecksByRequest(database, requestId, CHECKS_MAX);
      const [check] = checks;
      return { checks, transactions: check === undefined ? [] : await paidAfter(check, filter), next: null };
    },
  });

  /** The client's transactions of the next hour to the account that was checked. Its number is known as a hash only. */
  async function paidAfter(check: AccountCheck, filter: SearchFilter): Promise<readonly Transaction[]> {
    const { clientId, checkedAt, accountHash } = check;
    const createdTo = new Date(Date.parse(checkedAt) + PAID_WITHIN_MS).toISOString();
    const nearby = { ...filter, clientId, createdFrom: checkedAt, createdTo };
    const options = { after: null, limit: NEARBY_MAX };
    const { transactions } = await searchTransactions(database, { by: 'time' }, nearby, options);
    return transactions.filter(({ bankCode, accountNumber }) => {
      const bank = banks.find(bankCode);
      const parsed = bank === null ? null : parseAccountNumber(bank, accountNumber);
      return bank !== null && parsed !== null && hashAccount(bank.bic, parsed.reveal()) === accountHash;
    });
  }

  return (parameters: SearchParameters, filter: SearchFilter): readonly Reading[] => {
    const requestId = textParameter(parameters.request_id, 'request_id');
    if (requestId !== null) return [byRequest(requestId, filter)];
    if (parameters.q === undefined) return [bySearch('filters', readSearchKey(parameters, filter))];
    const text = readSearchText(parameters.q);
    const { identifiers, accountNumbers, amount } = text;
    if (!isReferenceId(parameters.q.trim())) throw invalidRequest(englishOnly(Q_MESSAGE));
    return [
      ...(identifiers === null
        ? []
        : [
            bySearch('identifier', {
              key: { by: 'identifier', identifiers: IDENTIFIERS, values: identifiers },
              filter,
            }),
          ]),
      ...(accountNumbers === null
        ? []
        : [bySearch('account_number', { key: { by: 'account_number', values: accountNumbers }, filter })]),
      ...(amount === null ? [] : [bySearch('amount', amountSearch(amount, filter))]),
      ...(text.requestId === null ? [] : [byRequest(text.requestId, filter)]),
    ];
  };
}

/** A bulk check has one request ID for all of its accounts. */
const CHECKS_MAX = 100;
const PAID_WITHIN_MS = 60 * 60 * 1_000;
/** Of the client's transactions in that hour, the newest are compared. */
const NEARBY_MAX = 1_000;

const Q_MESSAGE =
  'q must have 1 to 128 characters, without control characters: an identifier, an account number, an amount or a ' +
  'request ID';
