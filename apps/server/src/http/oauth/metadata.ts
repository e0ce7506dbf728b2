import type { FastifyInstance } from 'fastify';
import { SCOPES } from '../../auth/scopes.ts';
import type { SigningKeys } from '../../auth/signing-keys.ts';

/** Authorization server metadata (RFC 8414) and the keys that verify its tokens (RFC 7517). */
export function authorizationServerMetadata(app: FastifyInstance, issuer: () => string, keys: SigningKeys): void {
  app.get('/.well-known/oauth-authorization-server', { schema: { hide: true } }, async () => ({
    issuer: issuer(),
    token_endpoint: `${issuer()}/oauth/token`,
    jwks_uri: `${issuer()}/oauth/jwks`,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    scopes_supported: SCOPES,
  }));

  app.get('/oauth/jwks', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('cache-control', 'public, max-age=60');
    return keys.jwks();
  });
}
