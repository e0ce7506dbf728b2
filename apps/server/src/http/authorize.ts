import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { type Authentication, type Authenticator, type Caller, hasBearerToken } from '../auth/authenticator.ts';
import type { Role } from '../auth/roles.ts';
import type { Scope } from '../auth/scopes.ts';
import type { BilingualText } from '../lib/bilingual-text.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Decision, type LimitedOperation, type Limiter, WINDOW_MS } from '../rate-limit/limiter.ts';
import { ApiError, bearerChallenge, tooManyRequests, unavailable } from './errors.ts';
import { acceptsJson, preferredType } from './request-headers.ts';

export interface AuthorizeDependencies {
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
}

export interface AuthorizeOptions {
  readonly scope: Scope;
  /** The role that a person needs; by default the one for the scope. On the operator listener. */
  readonly role?: Role;
  /** The operation whose rate limit applies; absent for operations without a limit. */
  readonly limitedOperation?: LimitedOperation;
  /** The media types other than JSON in which the operation can answer. */
  readonly alternativeTypes?: readonly string[];
}

const UNAVAILABLE_RETRY_AFTER_MS = 1_000;

/**
 * Creates the onRequest hook that checks authentication, scope, rate limit and Accept, in this order (docs/contract.md
 * 7.2). It runs before the body is read. It finishes in the same turn of the event loop when the token was verified
 * before and the limiter is in this process.
 */
export function createAuthorize({ authenticator, limiter, metrics }: AuthorizeDependencies) {
  return ({ scope, limitedOperation, alternativeTypes = [] }: AuthorizeOptions): onRequestHookHandler => {
    const rateLimitOf = limitedOperation === undefined ? null : createClientRateLimits(limitedOperation);

    function checkScopeAndLimit(
      caller: Caller,
      request: FastifyRequest,
      reply: FastifyReply,
      done: (error?: Error) => void,
    ): void {
      request.caller = caller;
      const allowed = caller.scopes.has(scope);
      if (rateLimitOf === null) {
        done(allowed ? checkAccept(request, alternativeTypes) : forbidden(scope));
        return;
      }
      const rateLimit = rateLimitOf(caller.client);
      const { key, limit } = rateLimit;
      const finish = (decision: Decision): void => {
        setRateLimitHeaders(reply, rateLimit, decision);
        if (!allowed) done(forbidden(scope));
        else if (!decision.admitted) done(tooManyRequests(decision.resetMs));
        else done(checkAccept(request, alternativeTypes));
      };
      // A request without the scope is not counted, but like every authenticated answer it has the rate limit headers.
      const decision =
        request.raw.begun?.counted?.decision ?? (allowed ? limiter.take(key, limit) : limiter.peek(key, limit));
      if (decision instanceof Promise) decision.then(finish, done);
      else finish(decision);
    }

    return (request, reply, done) => {
      const proceed = (authentication: Authentication): void => {
        if (authentication.outcome === 'authenticated') {
          checkScopeAndLimit(authentication.caller, request, reply, done);
          return;
        }
        metrics.authenticationFailures.inc({ outcome: authentication.outcome });
        done(authenticationError(authentication, request.headers.authorization));
      };
      // It is not authenticated again: a database that went away meanwhile is what the look-up's error says.
      const counted = request.raw.begun?.counted;
      if (counted !== undefined) {
        checkScopeAndLimit(counted.caller, request, reply, done);
        return;
      }
      const authentication = authenticator.authenticate(request.headers.authorization, request);
      if (authentication instanceof Promise) authentication.then(proceed, done);
      else proceed(authentication);
    };
  };
}

export type Authorize = ReturnType<typeof createAuthorize>;

/**
 * The error for a request that has waited and is no longer authorized; null if it still is. It is not counted again.
 */
export function createReauthorize(authenticator: Pick<Authenticator, 'reauthenticate'>, scope: Scope) {
  return async (request: FastifyRequest): Promise<ApiError | null> => {
    const caller = await authenticator.reauthenticate(request.headers.authorization);
    if (caller === 'unavailable') return authenticationError({ outcome: 'unavailable' });
    if (caller === null) return authenticationError({ outcome: 'unauthenticated', presented: true });
    return caller.scopes.has(scope) ? null : forbidden(scope);
  };
}

export type Reauthorize = ReturnType<typeof createReauthorize>;

/** The caller, which the authorize hook has set. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('a route without the authorize hook reads its caller');
  return request.caller;
}

/** Without these texts, a client whose header is missing or wrong would obtain a new token, which does not help. */
const NO_TOKEN_MESSAGE: BilingualText = {
  en: 'Invalid or expired token: none was sent. Send it as Authorization: Bearer <access token>',
  id:
    'Token tidak valid atau kedaluwarsa: tidak ada token yang dikirim. Kirim sebagai ' +
    'Authorization: Bearer <token akses>',
};
const NOT_BEARER_MESSAGE: BilingualText = {
  en:
    'Invalid or expired token: the Authorization header is not in the form of a Bearer token. Send it as ' +
    'Authorization: Bearer <access token>',
  id:
    'Token tidak valid atau kedaluwarsa: header Authorization tidak berbentuk token Bearer. Kirim sebagai ' +
    'Authorization: Bearer <token akses>',
};

/** The message for a request without a usable token; undefined where the usual one helps: obtain a new token. */
function tokenFault(presented: boolean, authorization: string | undefined): BilingualText | undefined {
  if (!presented) return NO_TOKEN_MESSAGE;
  return authorization === undefined || hasBearerToken(authorization) ? undefined : NOT_BEARER_MESSAGE;
}

function authenticationError(
  authentication: Exclude<Authentication, { outcome: 'authenticated' }>,
  authorization?: string,
): ApiError {
  switch (authentication.outcome) {
    case 'unauthenticated': {
      // RFC 6750, section 3: no error code where no token was presented.
      const error = authentication.presented
        ? ', error="invalid_token", error_description="invalid or expired token"'
        : '';
      const message = tokenFault(authentication.presented, authorization);
      return new ApiError('UNAUTHORIZED', {
        ...(message === undefined ? {} : { message }),
        headers: bearerChallenge(error),
      });
    }
    case 'throttled':
      return tooManyRequests(authentication.retryAfterMs, THROTTLED_MESSAGE);
    case 'unavailable':
      return unavailable(UNVERIFIABLE_MESSAGE, UNAVAILABLE_RETRY_AFTER_MS, authentication.cause);
  }
}

const THROTTLED_MESSAGE: BilingualText = {
  en:
    'Too many requests from this address without a valid access token: send a valid one, or wait for the number of ' +
    'seconds in Retry-After',
  id:
    'Terlalu banyak permintaan dari alamat ini tanpa token akses yang valid: kirim token yang valid, atau tunggu ' +
    'selama jumlah detik di Retry-After',
};

const UNVERIFIABLE_MESSAGE: BilingualText = {
  en: 'the token cannot be verified now. Repeat the request',
  id: 'token tidak dapat diverifikasi saat ini. Ulangi permintaan',
};

const forbidden = (scope: Scope): ApiError =>
  new ApiError('FORBIDDEN', {
    message: {
      en:
        `The access token lacks the scope ${scope}: ask for it when you obtain the token, and if that is refused, ` +
        'ask the operator of the service for it',
      id:
        `Token akses tidak memiliki scope ${scope}: minta scope itu saat Anda mengambil token, dan bila ditolak, ` +
        'minta kepada operator layanan',
    },
    headers: bearerChallenge(`, error="insufficient_scope", scope="${scope}"`),
  });

/** A client's rate limit for an operation, and the texts that describe it. */
export interface ClientRateLimit {
  readonly operation: LimitedOperation;
  readonly key: string;
  readonly limit: number;
  /** RateLimit-Policy. */
  readonly policy: string;
}

/** Each client's limit is built once, because every request of the client needs it. */
export function createClientRateLimits(operation: LimitedOperation): (client: Caller['client']) => ClientRateLimit {
  const rateLimits = new Map<string, ClientRateLimit>();
  return ({ clientId, limits }) => {
    const limit = limits[operation];
    let rateLimit = rateLimits.get(clientId);
    if (rateLimit?.limit !== limit) {
      const policy = `"${operation}";q=${limit};w=${WINDOW_MS / 1000}`;
      rateLimit = { operation, key: `${operation} ${clientId}`, limit, policy };
      rateLimits.set(clientId, rateLimit);
    }
    return rateLimit;
  };
}

/** draft-ietf-httpapi-ratelimit-headers; docs/contract.md 8.2. */
export function setRateLimitHeaders(reply: FastifyReply, rateLimit: ClientRateLimit, decision: Decision): void {
  reply.header('ratelimit-policy', rateLimit.policy);
  reply.header('ratelimit', rateLimitHeader(rateLimit, decision));
}

export const rateLimitHeader = ({ operation }: ClientRateLimit, { remaining, resetMs }: Decision): string =>
  `"${operation}";r=${remaining};t=${Math.ceil(resetMs / 1000)}`;

export function checkAccept(request: FastifyRequest, alternatives: readonly string[]): ApiError | undefined {
  const { accept } = request.headers;
  return acceptsJson(accept) || preferredType(accept, alternatives) !== null
    ? undefined
    : new ApiError('NOT_ACCEPTABLE');
}
