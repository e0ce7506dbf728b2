import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { IssueAccessToken } from '../../auth/access-tokens.ts';
import type { Client } from '../../auth/clients.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { tokenStringToSign } from '../../snap/string-to-sign.ts';
import { bodyFields, requireJsonType } from './body.ts';
import { headerOf, requireHeaders, requireRecentTimestamp, TOKEN_HEADERS, timestampMsOf } from './headers.ts';
import { malformed, missing, SnapRejection, sendSnap } from './response-codes.ts';
import { SNAP_SCOPES, SNAP_SERVICES } from './services.ts';
import { isSignedWithKey, readSignature } from './signature.ts';
import { authenticationFailure, requireCurrentClients, type SnapAuthentication } from './signed-request.ts';

export interface AccessTokenDependencies extends SnapAuthentication {
  readonly issue: IssueAccessToken;
  readonly lifetimeSeconds: number;
}

/**
 * The most that X-TIMESTAMP may be off, whatever the client's own setting. The signature covers the client ID and the
 * time only, so a captured request gives tokens again until its time is too old.
 */
const CLOCK_SKEW_SECONDS_MAX = 300;

/** Access token B2B (ASPI, service 73). */
export function accessToken(app: FastifyInstance, dependencies: AccessTokenDependencies): void {
  const { issue, lifetimeSeconds } = dependencies;
  const { route } = SNAP_SERVICES.accessToken;
  app.post(route, { onRequest: [requireJsonType] }, async (request, reply) => {
    const client = await authenticate(request, dependencies);
    requireGrantType(request);
    const scopes = SNAP_SCOPES.filter((scope) => client.scopes.has(scope));
    if (scopes.length === 0) {
      throw new SnapRejection('FORBIDDEN', 'featureNotAllowed', {
        detail: `no scope ${SNAP_SCOPES.join(' or ')}: ask the operator for one`,
      });
    }
    reply.header('x-client-key', client.clientId);
    const fields = {
      accessToken: await issue(client, scopes, lifetimeSeconds),
      tokenType: 'Bearer',
      // ASPI requires a string.
      expiresIn: String(lifetimeSeconds),
    };
    return sendSnap(request, reply, { snapCase: 'successful', fields });
  });
}

async function authenticate(request: FastifyRequest, dependencies: AccessTokenDependencies): Promise<Client> {
  const { headers } = request;
  requireHeaders(headers, TOKEN_HEADERS);
  const timestampMs = timestampMsOf(headers);
  await requireCurrentClients(dependencies);
  const clientKey = headerOf(headers, 'X-CLIENT-KEY');
  const client = dependencies.clients.find(clientKey);
  const snap = client === undefined || client.disabled ? null : client.snap;
  const signature = readSignature(headerOf(headers, 'X-SIGNATURE'));
  const text = tokenStringToSign(clientKey, headerOf(headers, 'X-TIMESTAMP'));
  const credentials = snap === null ? null : dependencies.credentialsOf(snap);
  const isSigned = signature !== null && isSignedWithKey(signature, text, credentials);
  if (!isSigned || client === undefined || snap === null) {
    throw await authenticationFailure(dependencies, request, clientKey, 'X-CLIENT-KEY or X-SIGNATURE is wrong');
  }
  requireRecentTimestamp(timestampMs, dependencies.now(), Math.min(snap.clockSkewSeconds, CLOCK_SKEW_SECONDS_MAX));
  request.caller = { client, scopes: client.scopes, expiresAtMs: Number.POSITIVE_INFINITY };
  return client;
}

/** ASPI spells it grantType; Midtrans's library, which clients use against other banks too, grant_type. */
function requireGrantType(request: FastifyRequest): void {
  const fields = bodyFields(request);
  const grantType = ownProperty(fields, 'grantType') ?? ownProperty(fields, 'grant_type') ?? null;
  if (grantType === null) throw missing('grantType');
  if (grantType !== 'client_credentials') throw malformed('grantType', 'client_credentials');
}
