import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isTransactionId } from '../../domain/identifiers.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import type { LookUpCallback, TransactionLookUp } from '../../postgres/transaction-look-up.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { ApiError } from '../errors.ts';
import type { CountCost } from '../request-cost.ts';
import type { UnfinishedRequest } from './answer-unfinished.ts';
import { checkStatusBatch } from './batch.ts';
import { decode, readIdentifier } from './read-identifier.ts';
import { checkStatusByIdSchema, checkStatusByReferenceSchema } from './schema.ts';
import { prefersStream, STREAM_TYPES } from './stream.ts';
import { type RetryAfter, sendTransaction } from './transaction-answer.ts';

export interface CheckStatusDependencies {
  readonly authorize: Authorize;
  readonly countCost: CountCost;
  readonly lookUp: TransactionLookUp;
  readonly retryAfter: RetryAfter;
  /** Answers where one look-up is not enough: the client waits or streams, or the bank can be asked. */
  readonly answerUnfinished: (request: UnfinishedRequest) => void;
}

/** docs/contract.md 4.1, 4.2 and 4.4. */
export function checkStatus(app: FastifyInstance, dependencies: CheckStatusDependencies): void {
  const { authorize, lookUp, retryAfter, answerUnfinished } = dependencies;
  const onRequest = authorize({
    scope: 'status:read',
    limitedOperation: 'check-status',
    alternativeTypes: STREAM_TYPES,
  });

  app.get('/api/v1/check-status/:transaction_id', { onRequest, schema: checkStatusByIdSchema }, answerByPath);

  // `batch` is a reference ID too, and this path has a POST: without a route of its own, GET would not be allowed.
  checkStatusBatch(app, dependencies);
  app.get('/api/v1/check-status/batch', { onRequest, schema: { hide: true } }, answerByPath);

  app.get('/api/v1/check-status', { onRequest, schema: checkStatusByReferenceSchema }, (request, reply) => {
    answer(request, reply, identifierInQuery(request.originalUrl), false);
  });

  function answerByPath(request: FastifyRequest, reply: FastifyReply): void {
    const value = identifierInPath(request.originalUrl);
    answer(request, reply, value, isTransactionId(value));
  }

  function answer(request: FastifyRequest, reply: FastifyReply, value: string, alsoTransactionId: boolean): void {
    const { clientId } = callerOf(request).client;
    const answerResult: LookUpCallback = (error, found) => {
      if (error !== null) reply.send(error);
      // The look-up covers the caller's own transactions only, so another client's transaction gives the same bytes as
      // one that does not exist.
      else if (found === null) reply.send(new ApiError('TRANSACTION_NOT_FOUND'));
      else if (found.progress === 'inquirable' || wantsToWait(request))
        answerUnfinished({ request, reply, clientId, found });
      else {
        if (found.progress === 'in_process') reply.header('retry-after', retryAfter(found.rendered));
        sendTransaction(request, reply, found);
      }
    };
    const lookedUp = request.raw.begun?.lookedUp;
    if (lookedUp === undefined) lookUp.find(clientId, value, alsoTransactionId, answerResult);
    else answerResult(lookedUp.error, lookedUp.found);
  }
}

const wantsToWait = ({ headers }: FastifyRequest): boolean =>
  headers['prefer'] !== undefined || prefersStream(headers.accept);

/** The last path segment, decoded once. It is read from the URL as sent, because the router decodes in its own way. */
function identifierInPath(url: string): string {
  const query = url.indexOf('?');
  const end = query === -1 ? url.length : query;
  return identifier(url.slice(url.lastIndexOf('/', end - 1) + 1, end), PATH);
}

const PATH: BilingualText = { en: 'the path', id: 'path' };
const QUERY_NAME = 'reference_id';

/** The only `reference_id` of the query, decoded like a form field (a plus is a space). */
function identifierInQuery(url: string): string {
  const query = url.indexOf('?');
  const values: string[] = [];
  let other = '';
  for (const pair of (query === -1 ? '' : url.slice(query + 1)).split('&')) {
    const [name = ''] = pair.split('=', 1);
    if (decode(name) === QUERY_NAME) values.push(pair.slice(name.length + 1));
    else if (other === '') other = name;
  }
  const [value] = values;
  if (value === undefined) throw new ApiError('INVALID_TRANSACTION_ID', { message: noReference(other) });
  if (values.length > 1) throw new ApiError('INVALID_TRANSACTION_ID', { message: REPEATED_REFERENCE });
  return identifier(value.replaceAll('+', ' '), { en: QUERY_NAME, id: QUERY_NAME });
}

const REPEATED_REFERENCE: BilingualText = {
  en: `Invalid transaction ID format: give ${QUERY_NAME} exactly once`,
  id: `Format ID transaksi tidak valid: berikan ${QUERY_NAME} tepat satu kali`,
};
const NO_REFERENCE: BilingualText = {
  en: `${REPEATED_REFERENCE.en}, or a transaction ID in the path`,
  id: `${REPEATED_REFERENCE.id}, atau ID transaksi di path`,
};
/** Such as `reference`. Other texts, of which some are identifiers of customers, are not repeated. */
const PARAMETER_NAME = /^[a-z_]{1,32}$/i;

/** `other`: a parameter that the operation does not have. */
const noReference = (other: string): BilingualText =>
  PARAMETER_NAME.test(other)
    ? {
        en: `${NO_REFERENCE.en}; there is no parameter ${other}`,
        id: `${NO_REFERENCE.id}; tidak ada parameter ${other}`,
      }
    : NO_REFERENCE;

function identifier(encoded: string, where: BilingualText): string {
  const value = readIdentifier(encoded);
  if (value !== null) return value;
  throw new ApiError('INVALID_TRANSACTION_ID', {
    message: {
      en:
        `Invalid transaction ID format: ${where.en} must have 1 to 128 characters, percent-encoded as UTF-8, ` +
        'none of them a control character',
      id:
        `Format ID transaksi tidak valid: ${where.id} harus terdiri dari 1 sampai 128 karakter, percent-encoded ` +
        'sebagai UTF-8, tanpa karakter kontrol',
    },
  });
}
