import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator } from '../../auth/authenticator.ts';
import { isTransactionId } from '../../domain/identifiers.ts';
import type { Language } from '../../lib/bilingual-text.ts';
import type { FoundTransaction, TransactionLookUp } from '../../postgres/transaction-look-up.ts';
import type { Decision, Limiter } from '../../rate-limit/limiter.ts';
import { createClientRateLimits, rateLimitHeader } from '../authorize.ts';
import type { DirectListener, DirectRoute } from '../direct-routes.ts';
import { ENVELOPE_HEADERS } from '../envelope.ts';
import { languageOf } from '../language.ts';
import { hasBody, malformedHead } from '../request-checks.ts';
import { readIdentifier } from './read-identifier.ts';
import { entityTag, type RetryAfter, renderedIn, transactionFound } from './transaction-answer.ts';

export interface DirectStatusCheckDependencies {
  readonly authenticator: Pick<Authenticator, 'knownCaller'>;
  readonly limiter: Pick<Limiter, 'take'>;
  readonly lookUp: Pick<TransactionLookUp, 'find'>;
  readonly retryAfter: RetryAfter;
}

/**
 * Both forms (docs/contract.md 4.1 and 4.2): with an identifier that is the same encoded and decoded, and with a
 * reference ID in which a plus cannot be a space, of at most 128 characters with four bytes each (%XX).
 */
const PLAIN_URL = /^\/api\/v1\/check-status(?:\/([\w.~-]{1,128})|\?reference_id=([\w.~/:@%-]{1,1536}))$/;
/** It has a route of its own. */
const BATCH = 'batch';

/** Names and values in turn. */
const ENVELOPE = { en: Object.entries(ENVELOPE_HEADERS.en).flat(), id: Object.entries(ENVELOPE_HEADERS.id).flat() };

/**
 * Without a header that asks for more than the status, and without a body. Each header is named: V8 looks the names of
 * a loop up anew in each request.
 */
function isPlain(request: IncomingMessage): boolean {
  const { method, headers } = request;
  const { accept } = headers;
  return (
    method === 'GET' &&
    (accept === undefined || accept === 'application/json' || accept === '*/*') &&
    headers['prefer'] === undefined &&
    headers['if-none-match'] === undefined &&
    headers['cache-control'] === undefined &&
    headers.expect === undefined &&
    headers.upgrade === undefined &&
    !hasBody(request) &&
    malformedHead(request) === undefined
  );
}

interface PlainStatusCheck {
  readonly route: string;
  readonly value: string;
  /** Whether it is looked for among the transaction IDs, before the reference IDs. */
  readonly alsoTransactionId: boolean;
}

function plainStatusCheck(request: IncomingMessage): PlainStatusCheck | null {
  const url = isPlain(request) ? PLAIN_URL.exec(request.url ?? '') : null;
  if (url === null) return null;
  const [, inPath, encoded = ''] = url;
  if (inPath === BATCH) return null;
  if (inPath !== undefined) {
    return {
      route: '/api/v1/check-status/:transaction_id',
      value: inPath,
      alsoTransactionId: isTransactionId(inPath),
    };
  }
  const value = readIdentifier(encoded);
  return value === null ? null : { route: '/api/v1/check-status', value, alsoTransactionId: false };
}

/**
 * A status check that asks for nothing but the status, with a token that was verified before, of a transaction that
 * exists and of which PostgreSQL knows all there is to know.
 */
export const createDirectStatusCheck =
  ({ authenticator, limiter, lookUp, retryAfter }: DirectStatusCheckDependencies) =>
  (listener: DirectListener): DirectRoute => {
    const rateLimitOf = createClientRateLimits('check-status');

    return (request, response) => {
      const startedMs = performance.now();
      const plain = plainStatusCheck(request);
      if (plain === null) return false;
      const caller = authenticator.knownCaller(request.headers.authorization);
      if (caller === null || !caller.scopes.has('status:read')) return false;
      const rateLimit = rateLimitOf(caller.client);
      listener.noteResponse(request, response);
      const span = listener.sample(request);
      if (span !== undefined) {
        listener.passOn(request, response, { startedMs, span });
        return true;
      }

      const proceed = (decision: Decision): void => {
        const counted = { caller, decision };
        if (!decision.admitted) {
          listener.passOn(request, response, { startedMs, counted });
          return;
        }
        lookUp.find(caller.client.clientId, plain.value, plain.alsoTransactionId, (error, found) => {
          if (found === null || found.progress === 'inquirable' || listener.isStopping()) {
            listener.passOn(request, response, { startedMs, counted, lookedUp: { error, found } });
            return;
          }
          const requestId = listener.newRequestId();
          const headers = ['x-request-id', requestId, 'ratelimit-policy', rateLimit.policy, 'ratelimit'];
          headers.push(rateLimitHeader(rateLimit, decision));
          if (found.progress === 'in_process') headers.push('retry-after', retryAfter(found.rendered));
          send(response, languageOf(request), found, headers);
          listener.record({ requestId, route: plain.route, startedMs, caller });
        });
      };
      // An exception would end the process. In Fastify's route it is answered with 500, like the error of a look-up.
      const fail = (error: unknown): void =>
        listener.passOn(request, response, { startedMs, lookedUp: { error, found: null } });
      try {
        const decision = limiter.take(rateLimit.key, rateLimit.limit);
        if (decision instanceof Promise) decision.then(proceed).catch(fail);
        else proceed(decision);
      } catch (error) {
        fail(error);
      }
      return true;
    };
  };

/** As `sendTransaction` (transaction-answer.ts) does where no header of the request asks for more. */
function send(response: ServerResponse, language: Language, found: FoundTransaction, headers: string[]): void {
  const body = transactionFound(language, renderedIn(language, found.rendered));
  headers.push('etag', entityTag(found.version, language), ...ENVELOPE[language]);
  const bytes = Buffer.byteLength(body);
  headers.push('content-length', String(bytes));
  response.writeHead(200, headers);
  // ASCII has the same bytes in both encodings, and Node writes Latin-1 without encoding each character.
  response.end(body, bytes === body.length ? 'latin1' : 'utf8');
}
