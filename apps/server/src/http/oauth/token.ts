import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { IssueAccessToken } from '../../auth/access-tokens.ts';
import type { Client, Clients } from '../../auth/clients.ts';
import type { FailureThrottle } from '../../auth/failure-throttle.ts';
import { isScope, type Scope } from '../../auth/scopes.ts';
import { matchesSecret } from '../../auth/secrets.ts';
import type { Notifications } from '../../postgres/notifications.ts';
import { retryAfterHeader, unavailable } from '../errors.ts';
import { requireBodyOf } from '../request-body.ts';

export interface TokenEndpointDependencies {
  readonly clients: Clients;
  readonly notifications: Pick<Notifications, 'waitUntilCurrent'>;
  readonly issue: IssueAccessToken;
  readonly throttle: FailureThrottle;
  readonly lifetimeSeconds: number;
}

const FORM = 'application/x-www-form-urlencoded';
/** Client ID, secret and scopes come to a few hundred bytes, also where all of them are percent-encoded. */
const BODY_BYTES_MAX = 4 * 1024;
const UNAVAILABLE_RETRY_AFTER_MS = 1_000;

/**
 * The token endpoint (RFC 6749, sections 3.2 and 4.4): client credentials, by HTTP Basic or in the body. Its answers
 * have the form that OAuth clients read (sections 5.1 and 5.2), not the envelope of the service document, which leaves
 * login open.
 */
export function tokenEndpoint(app: FastifyInstance, dependencies: TokenEndpointDependencies): void {
  app.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body as string));
  });

  const options = { onRequest: requireBodyOf(FORM), bodyLimit: BODY_BYTES_MAX, schema: { hide: true } };
  app.post('/oauth/token', options, async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
    if (!(await dependencies.notifications.waitUntilCurrent()))
      throw unavailable('No token can be issued now: repeat the request', UNAVAILABLE_RETRY_AFTER_MS);
    try {
      return await grant(request);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const { statusCode, code, message, headers } = error;
      return reply.code(statusCode).headers(headers).send({ error: code, error_description: message });
    }
  });

  async function grant(request: FastifyRequest): Promise<Record<string, string | number>> {
    const blockedMs = dependencies.throttle.blockedMs(request.ip);
    if (blockedMs > 0) {
      const message = 'too many failures from this address';
      throw new OAuthError('temporarily_unavailable', 429, message, retryAfterHeader(blockedMs));
    }
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const client = authenticateClient(request, form);
    const grantType = form.get('grant_type');
    if (grantType === null)
      throw new OAuthError('invalid_request', 400, 'grant_type is missing: send client_credentials');
    if (grantType !== 'client_credentials') {
      throw new OAuthError('unsupported_grant_type', 400, 'the only grant_type is client_credentials');
    }
    const scopes = grantedScopes(client, form.get('scope'));
    const accessToken = await dependencies.issue(client, scopes, dependencies.lifetimeSeconds);
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: dependencies.lifetimeSeconds,
      scope: scopes.join(' '),
    };
  }

  /**
   * Whoever comes without a good secret is counted, whatever else is wrong. A client that is refused after that is not: it
   * guesses nothing, and others behind its address would have to wait with it.
   */
  function authenticateClient(request: FastifyRequest, form: URLSearchParams): Client {
    try {
      refuseRepeated(form);
      return clientOf(request, form);
    } catch (error) {
      dependencies.throttle.recordFailure(request.ip);
      throw error;
    }
  }

  function clientOf(request: FastifyRequest, form: URLSearchParams): Client {
    const basic = basicCredentials(request.headers.authorization);
    if (basic !== null && form.has('client_secret')) {
      throw new OAuthError('invalid_request', 400, 'the client authenticates in two ways: use one');
    }
    const credentials = basic ?? bodyCredentials(form);
    const client = credentials === null ? undefined : dependencies.clients.find(credentials.clientId);
    // An unknown client's secret is compared all the same, so that the time tells nothing about which clients exist.
    const matches = matchesSecret(credentials?.clientSecret ?? '', client?.secretHash ?? NO_SECRET);
    if (client !== undefined && matches && !client.disabled) return client;
    throw new OAuthError('invalid_client', 401, 'unknown client, wrong secret, or the client is disabled', {
      'www-authenticate': 'Basic realm="tiba"',
    });
  }
}

const NO_SECRET = Buffer.alloc(32);

/** RFC 6749, section 5.2. */
class OAuthError extends Error {
  readonly code: string;
  readonly statusCode: number;
  readonly headers: Record<string, string>;

  constructor(code: string, statusCode: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.code = code;
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

/** RFC 6749, section 3.2: no parameter more than once. */
function refuseRepeated(form: URLSearchParams): void {
  const seen = new Set<string>();
  for (const name of form.keys()) {
    if (seen.has(name)) throw new OAuthError('invalid_request', 400, `${name} is given more than once`);
    seen.add(name);
  }
}

interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** RFC 6749, section 2.3.1: both parts are form-encoded before they are put together. */
function basicCredentials(authorization: string | undefined): Credentials | null {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const [clientId = '', clientSecret = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(/:(.*)/s);
  return { clientId: formDecode(clientId), clientSecret: formDecode(clientSecret) };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function bodyCredentials(form: URLSearchParams): Credentials | null {
  const clientId = form.get('client_id');
  const clientSecret = form.get('client_secret');
  return clientId === null || clientSecret === null ? null : { clientId, clientSecret };
}

/** All that the client may do, or what it asks for of that. */
function grantedScopes(client: Client, asked: string | null): Scope[] {
  if (asked === null || asked.trim() === '') return [...client.scopes];
  const scopes = asked.trim().split(/ +/);
  const granted = scopes.filter(isScope).filter((scope) => client.scopes.has(scope));
  if (granted.length < scopes.length) {
    throw new OAuthError('invalid_scope', 400, `this client may have: ${[...client.scopes].join(' ')}`);
  }
  return granted;
}
