import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../auth/scopes.ts';
import type { JsonObject } from '../../lib/exact-json.ts';
import type { Database } from '../../postgres/database.ts';
import type { SnapClientRecord } from '../../postgres/snap-clients.ts';
import { claimExternalId } from '../../postgres/snap-external-ids.ts';
import type { LimitedOperation, Limiter } from '../../rate-limit/limiter.ts';
import { createClientRateLimits, setRateLimitHeaders } from '../authorize.ts';
import { tooManyRequests } from '../errors.ts';
import { bodyFields, requireJsonType } from './body.ts';
import { EXTERNAL_ID_FORM, headerOf } from './headers.ts';
import { malformed, SnapRejection } from './response-codes.ts';
import { authenticateSnap, type SnapAuthentication } from './signed-request.ts';

export interface SignedServiceDependencies extends SnapAuthentication {
  /** The limiter of the JSON API: a client's requests count together, on the SNAP listener and on the JSON API. */
  readonly limiter: Limiter;
  readonly database: Database;
}

export interface SignedServiceOptions {
  readonly route: string;
  readonly scope: Scope;
  readonly limitedOperation: LimitedOperation;
}

/** A request that was authenticated and admitted. */
export interface SnapCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly clientId: string;
  readonly fields: JsonObject;
}

/** ASPI, X-EXTERNAL-ID. */
const EXTERNAL_ID = /^\d{1,36}$/;

/**
 * Adds a service whose requests are signed. Checked in this order: headers, signature, time, scope, rate limit,
 * X-EXTERNAL-ID, body. A request over the limit does not use up its X-EXTERNAL-ID.
 */
export function signedService(
  app: FastifyInstance,
  dependencies: SignedServiceDependencies,
  { route, scope, limitedOperation }: SignedServiceOptions,
  answer: (call: SnapCall) => Promise<FastifyReply>,
): void {
  const { limiter, database } = dependencies;
  const rateLimitOf = createClientRateLimits(limitedOperation);

  app.post(route, { onRequest: [requireJsonType] }, async (request, reply) => {
    const { snap, ...caller } = await authenticateSnap(request, dependencies);
    request.caller = caller;
    const allowed = caller.scopes.has(scope);
    const rateLimit = rateLimitOf(caller.client);
    const { key, limit } = rateLimit;
    const decision = await (allowed ? limiter.take(key, limit) : limiter.peek(key, limit));
    setRateLimitHeaders(reply, rateLimit, decision);
    if (!allowed)
      throw new SnapRejection('FORBIDDEN', 'featureNotAllowed', {
        detail: `the scope ${scope} is missing: ask the operator for it`,
      });
    if (!decision.admitted) throw tooManyRequests(decision.resetMs);
    await requireNewExternalId(database, snap, headerOf(request.headers, 'X-EXTERNAL-ID'));
    return answer({ request, reply, clientId: caller.client.clientId, fields: bodyFields(request) });
  });
}

async function requireNewExternalId(
  database: Database,
  { clientId, externalIds }: SnapClientRecord,
  externalId: string,
): Promise<void> {
  if (externalIds === 'off') return;
  if (!EXTERNAL_ID.test(externalId)) throw malformed('X-EXTERNAL-ID', EXTERNAL_ID_FORM);
  if (await claimExternalId(database, clientId, externalId)) return;
  throw new SnapRejection('INVALID_REQUEST', 'conflict', { detail: 'X-EXTERNAL-ID was used today: send a new one' });
}
