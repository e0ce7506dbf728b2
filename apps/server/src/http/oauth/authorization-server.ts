import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { IssueAccessToken } from '../../auth/access-tokens.ts';
import type { Client } from '../../auth/clients.ts';
import { isScope, SCOPES, type Scope } from '../../auth/scopes.ts';
import type { SigningKeys } from '../../auth/signing-keys.ts';
import type { BilingualText, Language } from '../../lib/bilingual-text.ts';
import type { Notifications } from '../../postgres/notifications.ts';
import { LANGUAGE_HEADERS } from '../envelope.ts';
import { unavailable } from '../errors.ts';
import { languageOf } from '../language.ts';
import { FORM, requireBodyOf } from '../request-body.ts';
import { authenticateClient, type ClientAuthenticationDependencies, OAuthError } from './client-authentication.ts';
import { keySetSchema, metadataSchema, tokenSchema } from './schema.ts';

export interface TokenEndpointDependencies extends ClientAuthenticationDependencies {
  readonly notifications: Pick<Notifications, 'waitUntilCurrent'>;
  readonly issue: IssueAccessToken;
  readonly lifetimeSeconds: number;
}

export interface BuiltInIssuer {
  readonly url: () => string;
  readonly keys: SigningKeys;
  readonly issue: IssueAccessToken;
  readonly endpoint: Omit<TokenEndpointDependencies, 'issue'>;
}

/** The headers of errors in the listener's language. */
interface ErrorLanguage {
  readonly language: Language;
  readonly headers: Readonly<Record<string, string>>;
}

const preferredLanguage = (request: FastifyRequest): ErrorLanguage => {
  const language = languageOf(request);
  return { language, headers: LANGUAGE_HEADERS[language] };
};

/** What differs between the listeners. */
interface TokenListener {
  readonly operationId: string;
  readonly errorLanguage: (request: FastifyRequest) => ErrorLanguage;
}

const PUBLIC_LISTENER: TokenListener = { operationId: 'createAccessToken', errorLanguage: preferredLanguage };

/** It answers in English only. */
export const OPERATOR_LISTENER: TokenListener = {
  operationId: 'createOperatorAccessToken',
  errorLanguage: () => ({ language: 'en', headers: { 'content-language': 'en' } }),
};

/** Client ID, secret and scopes take a few hundred bytes, even when all of them are percent-encoded. */
const BODY_BYTES_MAX = 4 * 1024;
const UNAVAILABLE_RETRY_AFTER_MS = 1_000;

/**
 * The token endpoint (RFC 6749, sections 3.2 and 4.4): client credentials, by HTTP Basic or in the body. Its answers
 * have the form that OAuth clients read (sections 5.1 and 5.2). That is the one exception to the envelope
 * (docs/contract.md 2.1); errors before OAuth is reached, such as a wrong content type, still have the envelope.
 */
export function tokenEndpoint(
  app: FastifyInstance,
  dependencies: TokenEndpointDependencies,
  { operationId, errorLanguage } = PUBLIC_LISTENER,
): void {
  app.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body as string));
  });

  const options = {
    onRequest: requireBodyOf(FORM),
    bodyLimit: BODY_BYTES_MAX,
    schema: { ...tokenSchema, operationId },
  };
  app.post('/oauth/token', options, async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
    if (!(await dependencies.notifications.waitUntilCurrent()))
      throw unavailable(NO_TOKEN_NOW, UNAVAILABLE_RETRY_AFTER_MS);
    try {
      return await grantToken(request, dependencies);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const { statusCode, code, description, headers } = error;
      const { language, headers: ofLanguage } = errorLanguage(request);
      return reply
        .code(statusCode)
        .headers({ ...ofLanguage, ...headers })
        .send({ error: code, error_description: description[language] });
    }
  });
}

const NO_TOKEN_NOW: BilingualText = {
  en: 'no token can be issued now. Repeat the request',
  id: 'token tidak dapat diterbitkan saat ini. Ulangi permintaan',
};
const NO_GRANT_TYPE: BilingualText = {
  en: 'grant_type is missing: send client_credentials',
  id: 'grant_type tidak ada: kirim client_credentials',
};
const OTHER_GRANT_TYPE: BilingualText = {
  en: 'the only grant_type is client_credentials',
  id: 'satu-satunya grant_type adalah client_credentials',
};

async function grantToken(
  request: FastifyRequest,
  dependencies: TokenEndpointDependencies,
): Promise<Record<string, string | number>> {
  const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
  const client = await authenticateClient(request, form, dependencies);
  const grantType = form.get('grant_type');
  if (grantType === null) throw new OAuthError('invalid_request', 400, NO_GRANT_TYPE);
  if (grantType !== 'client_credentials') {
    throw new OAuthError('unsupported_grant_type', 400, OTHER_GRANT_TYPE);
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
 * The requested scopes, or all of the client's when it requests none. @throws OAuthError for one that it does not have
 */
function grantedScopes(client: Client, requested: string | null): Scope[] {
  if (requested === null || requested.trim() === '') return [...client.scopes];
  const scopes = requested.trim().split(/ +/);
  const granted = scopes.filter(isScope).filter((scope) => client.scopes.has(scope));
  if (granted.length < scopes.length) {
    const allowed = [...client.scopes].join(' ');
    const description = { en: `this client may have: ${allowed}`, id: `klien ini boleh memiliki: ${allowed}` };
    throw new OAuthError('invalid_scope', 400, description);
  }
  return granted;
}

/** Authorization server metadata (RFC 8414), and the keys that verify its tokens (RFC 7517). */
export function authorizationServerMetadata(app: FastifyInstance, issuer: () => string, keys: SigningKeys): void {
  app.get('/.well-known/oauth-authorization-server', { schema: metadataSchema }, async () => ({
    issuer: issuer(),
    token_endpoint: `${issuer()}/oauth/token`,
    jwks_uri: `${issuer()}/oauth/jwks`,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    scopes_supported: SCOPES,
  }));

  app.get('/oauth/jwks', { schema: keySetSchema }, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=60');
    return keys.jwks();
  });
}
