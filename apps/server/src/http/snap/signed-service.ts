import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../auth/scopes.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { JsonObject } from '../../lib/exact-json.ts';
import { within } from '../../lib/within.ts';
import type { Database } from '../../postgres/database.ts';
import type { SnapClientRecord } from '../../postgres/snap-clients.ts';
import { claimExternalId } from '../../postgres/snap-external-ids.ts';
import type { LimitedOperation, Limiter } from '../../rate-limit/limiter.ts';
import { arrivedMs, noteWaited } from '../arrival.ts';
import { createClientRateLimits, setRateLimitHeaders } from '../authorize.ts';
import { tooManyRequests, unavailable } from '../errors.ts';
import { bodyFields, requireJsonType } from './body.ts';
import { EXTERNAL_ID_FORM, headerOf } from './headers.ts';
import { malformed, type SnapAnswer, SnapRejection, sendSnap } from './response-codes.ts';
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
  /** The client has its answer by then, however slow PostgreSQL is. Longer than one query may take. */
  readonly answerWithinMs: number;
}

/** A request that was authenticated and admitted. */
export interface SnapCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly clientId: string;
  readonly fields: JsonObject;
  /** From when its deadlines count (arrival.ts). */
  readonly arrivedMs: number;
}

/** ASPI, X-EXTERNAL-ID. */
const EXTERNAL_ID = /^\d{1,36}$/;

/**
 * Adds a service whose requests are signed. Checked in this order: headers, signature, time, scope, rate limit,
 * X-EXTERNAL-ID, body. A request over the limit does not use up its X-EXTERNAL-ID.
 *
 * Each wait has a deadline of its own, but a service that makes several statements adds them up. An answer that comes
 * too late is dropped: nothing but the X-EXTERNAL-ID may have been stored, and the client sends a new one anyway.
 */
export function signedService(
  app: FastifyInstance,
  dependencies: SignedServiceDependencies,
  { route, scope, limitedOperation, answerWithinMs }: SignedServiceOptions,
  answer: (call: SnapCall) => Promise<SnapAnswer>,
): void {
  const { limiter, database } = dependencies;
  const rateLimitOf = createClientRateLimits(limitedOperation);

  async function serve(request: FastifyRequest, reply: FastifyReply, fromMs: number): Promise<SnapAnswer> {
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
    return answer({ request, reply, clientId: caller.client.clientId, fields: bodyFields(request), arrivedMs: fromMs });
  }

  app.post(route, { onRequest: [requireJsonType, noteWaited] }, async (request, reply) => {
    const leftMs = answerWithinMs - request.waitedMs;
    const answered = await within(serve(request, reply, arrivedMs(request)), leftMs, null);
    if (answered === null) throw unavailable(TOO_LATE, TOO_LATE_RETRY_AFTER_MS);
    return sendSnap(request, reply, answered);
  });
}

const TOO_LATE = englishOnly('the service is too slow now. Repeat the request with a new X-EXTERNAL-ID');
const TOO_LATE_RETRY_AFTER_MS = 1_000;

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
