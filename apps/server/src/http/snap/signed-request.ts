import type { FastifyRequest } from 'fastify';
import { type Authenticator, type Caller, hasBearerToken } from '../../auth/authenticator.ts';
import type { Client, Clients } from '../../auth/clients.ts';
import type { FailureThrottle } from '../../auth/failure-throttle.ts';
import type { SnapCredentials } from '../../auth/snap-credentials.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Notifications } from '../../postgres/notifications.ts';
import type { BodyHash, SnapClientRecord } from '../../postgres/snap-clients.ts';
import { asymmetricStringToSign, symmetricStringToSign } from '../../snap/string-to-sign.ts';
import { type ApiError, tooManyRequests, unavailable } from '../errors.ts';
import { bodyBytes } from './body.ts';
import { headerOf, requireHeaders, requireRecentTimestamp, SERVICE_HEADERS, timestampMsOf } from './headers.ts';
import { SnapRejection, unauthorized } from './response-codes.ts';
import { pathFromVersion, SNAP_SCOPES } from './services.ts';
import { bodyHashesOf, isSignedWithKey, isSignedWithSecret, isSymmetric, readSignature } from './signature.ts';

/** What authenticates clients that speak SNAP: the tokens and the throttle are those of the JSON API. */
export interface SnapAuthentication {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly clients: Pick<Clients, 'find' | 'findByPartnerId'>;
  readonly notifications: Pick<Notifications, 'waitUntilCurrent'>;
  readonly throttle: FailureThrottle;
  readonly credentialsOf: (client: SnapClientRecord) => SnapCredentials;
  readonly metrics: Pick<Metrics, 'authenticationFailures'>;
  /** PostgreSQL's time, in milliseconds since 1970: the clock of this process may have jumped. */
  readonly now: () => number;
}

const UNAVAILABLE_RETRY_AFTER_MS = 1_000;
const UNVERIFIABLE = englishOnly('the request cannot be authenticated now. Repeat it');
const TOO_MANY_FAILURES = englishOnly('too many failed authentications from this address: correct the keys, then wait');

/**
 * Finds the client that signed a request. The signature is symmetric with an access token, or asymmetric without one
 * (ASPI, "keamanan", types 1 and 2). Until then only the hash of the body is used. @throws ApiError
 */
export async function authenticateSnap(
  request: FastifyRequest,
  dependencies: SnapAuthentication,
): Promise<Caller & { readonly snap: SnapClientRecord }> {
  requireHeaders(request.headers, SERVICE_HEADERS);
  const timestampMs = timestampMsOf(request.headers);
  const authorization = request.headers.authorization ?? '';
  const { caller, snap } =
    authorization === ''
      ? await authenticateByKey(request, dependencies)
      : await authenticateByToken(request, authorization, dependencies);
  requireRecentTimestamp(timestampMs, dependencies.now(), snap.clockSkewSeconds);
  return { ...caller, snap };
}

interface Authenticated {
  readonly caller: Caller;
  readonly snap: SnapClientRecord;
}

async function authenticateByToken(
  request: FastifyRequest,
  authorization: string,
  dependencies: SnapAuthentication,
): Promise<Authenticated> {
  const authentication = await dependencies.authenticator.authenticate(authorization, request);
  if (authentication.outcome !== 'authenticated') {
    dependencies.metrics.authenticationFailures.inc({ outcome: authentication.outcome });
    if (authentication.outcome === 'throttled') throw throttled(authentication.retryAfterMs);
    if (authentication.outcome === 'unavailable') throw unverifiable(authentication.cause);
    const detail = hasBearerToken(authorization) ? 'request a new token from access-token/b2b' : SEND_TOKEN;
    throw new SnapRejection('UNAUTHORIZED', 'invalidToken', { detail });
  }
  const { caller } = authentication;
  const { snap, clientId } = caller.client;
  if (snap === null)
    throw unauthorized('the client has no SNAP keys: give the operator your public key, and get a secret');
  const signature = readSignature(headerOf(request.headers, 'X-SIGNATURE'));
  const token = authorization.replace(/^Bearer +/i, '');
  const { secrets } = dependencies.credentialsOf(snap);
  const isSigned =
    signature !== null &&
    headerOf(request.headers, 'X-PARTNER-ID') === snap.partnerId &&
    signedTexts(request, snap.bodyHash, (signed, bodyHash) => symmetricStringToSign(signed, bodyHash, token)).some(
      (text) => isSignedWithSecret(signature, text, secrets()),
    );
  if (!isSigned) throw await authenticationFailure(dependencies, request, clientId, WRONG_SIGNATURE);
  return { caller, snap };
}

async function authenticateByKey(request: FastifyRequest, dependencies: SnapAuthentication): Promise<Authenticated> {
  await requireCurrentClients(dependencies);
  const signature = readSignature(headerOf(request.headers, 'X-SIGNATURE'));
  // Only its token is missing: the client must not look for a fault in its signature.
  if (signature !== null && isSymmetric(signature)) {
    throw new SnapRejection('UNAUTHORIZED', 'tokenNotFound', { detail: SEND_TOKEN });
  }
  const partnerId = headerOf(request.headers, 'X-PARTNER-ID');
  const client = dependencies.clients.findByPartnerId(partnerId);
  const snap = client === undefined || client.disabled ? null : client.snap;
  const credentials = snap === null ? null : dependencies.credentialsOf(snap);
  const isSigned =
    signature !== null &&
    signedTexts(request, snap?.bodyHash ?? 'minified', asymmetricStringToSign).some((text) =>
      isSignedWithKey(signature, text, credentials),
    );
  if (!isSigned || client === undefined || snap === null) {
    throw await authenticationFailure(dependencies, request, partnerId, WRONG_SIGNATURE);
  }
  return { caller: callerWithoutToken(client), snap };
}

const callerWithoutToken = (client: Client): Caller => ({
  client,
  scopes: new Set(SNAP_SCOPES.filter((scope) => client.scopes.has(scope))),
  expiresAtMs: Number.POSITIVE_INFINITY,
});

const SEND_TOKEN = 'send it as Authorization: Bearer <accessToken>';
const WRONG_SIGNATURE = 'X-PARTNER-ID or X-SIGNATURE is wrong';

type StringToSign = (
  signed: { readonly method: string; readonly path: string; readonly timestamp: string },
  bodyHash: string,
) => string;

/**
 * The texts that a right signature may cover. Some clients sign the whole path, others the path from the version on;
 * both lead to the same service.
 */
function signedTexts(request: FastifyRequest, form: BodyHash, stringToSign: StringToSign): readonly string[] {
  const { method, originalUrl } = request;
  const timestamp = headerOf(request.headers, 'X-TIMESTAMP');
  const bodyHashes = bodyHashesOf(bodyBytes(request), form);
  const paths = new Set([originalUrl, pathFromVersion(originalUrl)]);
  return [...paths].flatMap((path) => bodyHashes.map((hash) => stringToSign({ method, path, timestamp }, hash)));
}

/** @throws ApiError while this process cannot know which clients are disabled */
export async function requireCurrentClients({ notifications }: SnapAuthentication): Promise<void> {
  if (!(await notifications.waitUntilCurrent())) throw unverifiable(undefined);
}

const unverifiable = (cause: unknown): ApiError => unavailable(UNVERIFIABLE, UNAVAILABLE_RETRY_AFTER_MS, cause);

const throttled = (retryAfterMs: number): ApiError => tooManyRequests(retryAfterMs, TOO_MANY_FAILURES);

/** The rejection of a request that is not authentic. It counts as a failed login. */
export async function authenticationFailure(
  { throttle, metrics }: SnapAuthentication,
  request: FastifyRequest,
  clientId: string,
  reason: string,
): Promise<ApiError> {
  const retryAfterMs = await throttle.recordFailure(request.ip, clientId);
  metrics.authenticationFailures.inc({ outcome: retryAfterMs > 0 ? 'throttled' : 'unauthenticated' });
  return retryAfterMs > 0 ? throttled(retryAfterMs) : unauthorized(reason);
}
