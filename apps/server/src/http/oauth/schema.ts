import { type TSchema, Type } from 'typebox';
import { SCOPES } from '../../auth/scopes.ts';
import { FORM } from '../request-body.ts';
import { errorEnvelope, errorResponses, UNAUTHENTICATED_ERRORS } from '../schemas.ts';

const common = { tags: ['Login'], security: [] };

const TokenRequest = Type.Object(
  {
    grant_type: Type.Literal('client_credentials'),
    scope: Type.Optional(
      Type.String({
        description: 'Scopes, separated by spaces. All of the client when omitted.',
        examples: ['status:read account:check'],
      }),
    ),
    client_id: Type.Optional(
      Type.String({ description: 'Unless the client authenticates by HTTP Basic.', examples: ['demo-shop'] }),
    ),
    client_secret: Type.Optional(
      Type.String({ description: 'Unless the client authenticates by HTTP Basic.', examples: ['the secret'] }),
    ),
  },
  { title: 'TokenRequest' },
);

const Token = Type.Object(
  {
    access_token: Type.String({
      description: 'A JWT (RFC 9068). Treat it as opaque.',
      examples: ['eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl'],
    }),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'The lifetime of the token in seconds.', minimum: 1, examples: [900] }),
    scope: Type.String({
      description: 'The scopes that were granted, separated by spaces.',
      examples: ['status:read account:check'],
    }),
  },
  { title: 'AccessToken', additionalProperties: false },
);

/** RFC 6749, section 5.2. */
const OAuthErrorBody = Type.Object(
  {
    error: Type.Enum(
      ['invalid_request', 'invalid_client', 'unsupported_grant_type', 'invalid_scope', 'temporarily_unavailable'],
      { title: 'OAuthErrorCode' },
    ),
    error_description: Type.String({ description: 'What is wrong and what to do next, for people.' }),
  },
  { title: 'OAuthError', additionalProperties: false },
);

const oauthError = (error: string, message: string, description: string): TSchema => ({
  ...OAuthErrorBody,
  description,
  examples: [{ error, error_description: message }],
});

/** Malformed HTTP fails before OAuth is reached, and has the envelope. */
const badRequest = {
  oneOf: [OAuthErrorBody, errorEnvelope('INVALID_FORMAT')],
  description: 'The request is wrong: `error` says why.',
  examples: [{ error: 'unsupported_grant_type', error_description: 'the only grant_type is client_credentials' }],
};

export const tokenSchema = {
  ...common,
  security: [{ clientCredentials: [] }, {}],
  summary: 'Log in: obtain an access token',
  description:
    'OAuth 2.0 client credentials (RFC 6749, section 4.4). The client authenticates by HTTP Basic, or with ' +
    '`client_id` and `client_secret` in the body. Answers and OAuth errors have the form of RFC 6749.',
  consumes: [FORM],
  body: TokenRequest,
  response: {
    ...errorResponses(['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'], UNAUTHENTICATED_ERRORS),
    200: { ...Token, description: 'The access token.' },
    400: badRequest,
    401: oauthError(
      'invalid_client',
      'unknown client, wrong secret, or the client is disabled',
      'The client is unknown or disabled, or the secret is wrong.',
    ),
    429: oauthError(
      'temporarily_unavailable',
      'too many failed logins of this client from this address: check the client secret, or wait for the seconds in ' +
        'Retry-After',
      'Too many failed logins of this client from this address.',
    ),
  } as Record<number, TSchema>,
};

const url = (description: string, example: string) => Type.String({ description, format: 'uri', examples: [example] });

const texts = (description: string, examples: readonly string[]) =>
  Type.Array(Type.String(), { description, examples: [[...examples]] });

export const metadataSchema = {
  ...common,
  operationId: 'getAuthorizationServerMetadata',
  summary: 'Get the authorization server metadata',
  description: 'RFC 8414: where OAuth clients find the token endpoint and the keys.',
  response: {
    200: Type.Object(
      {
        issuer: url('The `iss` of access tokens.', 'https://tiba.example.com'),
        token_endpoint: url('Where to log in.', 'https://tiba.example.com/oauth/token'),
        jwks_uri: url('The keys that verify access tokens.', 'https://tiba.example.com/oauth/jwks'),
        grant_types_supported: texts('The grants of the token endpoint.', ['client_credentials']),
        response_types_supported: texts('None: there is no authorization endpoint.', []),
        token_endpoint_auth_methods_supported: texts('How clients authenticate.', [
          'client_secret_basic',
          'client_secret_post',
        ]),
        scopes_supported: texts('All scopes. A client has some of them.', SCOPES),
      },
      { title: 'AuthorizationServerMetadata', additionalProperties: false, description: 'The metadata.' },
    ),
    ...errorResponses([], UNAUTHENTICATED_ERRORS),
  },
};

const JsonWebKey = Type.Object(
  {
    kty: Type.String({ description: 'Key type.', examples: ['OKP'] }),
    kid: Type.String({ description: 'Key ID: the `kid` of tokens.', examples: ['2026-11-21-1'] }),
    alg: Type.String({ description: 'Algorithm.', examples: ['EdDSA'] }),
    use: Type.String({ description: 'Always for signatures.', examples: ['sig'] }),
    crv: Type.Optional(Type.String({ description: 'Curve, of EC and OKP keys.', examples: ['Ed25519'] })),
    x: Type.Optional(Type.String({ description: 'Of EC and OKP keys.', examples: ['11qYAYKxCrfVS_7TyWQHOg'] })),
    y: Type.Optional(Type.String({ description: 'Of EC keys.', examples: ['11qYAYKxCrfVS_7TyWQHOg'] })),
    n: Type.Optional(Type.String({ description: 'Of RSA keys.', examples: ['11qYAYKxCrfVS_7TyWQHOg'] })),
    e: Type.Optional(Type.String({ description: 'Of RSA keys.', examples: ['AQAB'] })),
  },
  {
    title: 'JsonWebKey',
    description: 'A public key (RFC 7517), with the members of its type.',
    examples: [
      {
        kty: 'OKP',
        crv: 'Ed25519',
        x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
        kid: '2026-11-21-1',
        alg: 'EdDSA',
        use: 'sig',
      },
    ],
  },
);

export const keySetSchema = {
  ...common,
  operationId: 'getJsonWebKeySet',
  summary: 'Get the keys that verify access tokens',
  description:
    'RFC 7517. A service that verifies access tokens by itself reads it, and again when it meets a new `kid`.',
  response: {
    200: Type.Object(
      { keys: Type.Array(JsonWebKey) },
      { title: 'JsonWebKeySet', additionalProperties: false, description: 'The public keys.' },
    ),
    ...errorResponses([], UNAUTHENTICATED_ERRORS),
  },
};
