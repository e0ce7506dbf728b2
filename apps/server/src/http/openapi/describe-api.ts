import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { ROLE_OF_SCOPE } from '../../auth/roles.ts';
import { isScope, type Scope } from '../../auth/scopes.ts';
import { completeDocument, type OpenApiDocument } from './complete-document.ts';

/** What a listener's description says beyond its operations. */
export interface ApiDescription {
  readonly title: string;
  /** Markdown. */
  readonly description: string;
  /** The tags of the operations, in the order in which they are shown. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** The token endpoint; null when an external issuer issues the tokens. A relative URL is allowed. */
  readonly tokenUrl: () => string | null;
  /**
   * Whether clients call the operations: those that need an access token have rate limits, and answers come in the
   * language that the client prefers.
   */
  readonly forClients: boolean;
  /** Requests that this service sends: a path item for each (OpenAPI 3.1, section 4.8.1). */
  readonly webhooks?: Readonly<Record<string, unknown>>;
}

/** What each scope permits, for the people who grant it. */
const SCOPE_DESCRIPTIONS: Readonly<Record<Scope, string>> = {
  'status:read': 'Check the status of your disbursements.',
  'transactions:read': 'List, search and export your disbursements.',
  'account:check': 'Check bank accounts, singly and in bulk, and list banks.',
  'events:read': 'List events.',
  'callbacks:manage': 'Manage callback endpoints and deliveries.',
  'feed:write': 'Send transactions and status updates: for the disbursement core only.',
  'operator:read': "Read the operator's lists, over all clients.",
  'operator:write': 'Actions of operators.',
  'operator:unmask': 'Account number and name of a transaction.',
  'audit:read': 'The record of what operators did.',
};

/** Collects the schemas of the operations. Register it before them. `app.swagger()` is the OpenAPI document. */
export async function describeApi(app: FastifyInstance, api: ApiDescription): Promise<void> {
  const { title, description, webhooks } = api;
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        version: '1',
        description,
        contact: { name: 'The operator of this service' },
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: api.tags.map(({ name, description: text }) => ({ name, description: text })),
      // Completed below, when the address of the token endpoint is known.
      components: {
        securitySchemes: { accessToken: { type: 'http', scheme: 'bearer' }, ...CLIENT_CREDENTIALS, ...SESSION },
      },
      ...(webhooks === undefined ? {} : { webhooks }),
    },
    // `const` is part of OpenAPI 3.1.
    convertConstToEnum: false,
    transformObject: (documents) => {
      const document = (documents as unknown as { openapiObject: OpenApiDocument }).openapiObject;
      const completed = completeDocument(api.forClients ? document : withSessions(document), api.forClients);
      completed.components['securitySchemes'] = securitySchemes(completed, api.tokenUrl());
      return completed;
    },
  });
}

/** How a client authenticates at the token endpoint (RFC 6749, section 2.3.1). */
const CLIENT_CREDENTIALS = {
  clientCredentials: {
    type: 'http',
    scheme: 'basic',
    description: '`client_id` and `client_secret` as user name and password (RFC 6749, section 2.3.1).',
  },
} as const;

/** People use their session where machines use a token, unless the scope is for machines only. */
function withSessions(document: OpenApiDocument): OpenApiDocument {
  const isForPeople = (scope: string): boolean => isScope(scope) && ROLE_OF_SCOPE[scope] !== null;
  const paths = Object.entries(document.paths).map(([path, methods]) => {
    const operations = Object.entries(methods).map(([method, operation]) => {
      const { security = [] } = operation;
      const hasSession = security.some(({ accessToken = [] }) => accessToken.some(isForPeople));
      return [method, hasSession ? { ...operation, security: [...security, { session: [] }] } : operation] as const;
    });
    return [path, Object.fromEntries(operations)] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) };
}

/** The cookie of a person, on the operator listener. */
const SESSION = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-tiba-operator',
    description:
      'The session of a person, from `/operator/login`; without TLS the name is `tiba-operator`. A request that ' +
      'changes something also needs `csrf_token` of `GET /operator/v1/session` in the header `X-CSRF-Token`.',
  },
} as const;

/** The schemes that the operations use, with the scopes that they need. */
function securitySchemes({ paths }: OpenApiDocument, tokenUrl: string | null): Record<string, unknown> {
  const required = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ security = [] }) => security);
  const needed = new Set(required.flatMap((requirement) => requirement['accessToken'] ?? []));
  const scopes = Object.entries(SCOPE_DESCRIPTIONS).filter(([scope]) => needed.has(scope));
  const accessToken =
    tokenUrl === null
      ? {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token from the authorization server that the operator names.',
        }
      : {
          type: 'oauth2',
          description:
            'OAuth 2.0 client credentials (RFC 6749, section 4.4). A token is valid for 15 minutes unless ' +
            '`expires_in` says otherwise. Obtain a new one before it expires; there is no refresh token.',
          flows: { clientCredentials: { tokenUrl, scopes: Object.fromEntries(scopes) } },
        };
  const usesCredentials = required.some((requirement) => 'clientCredentials' in requirement);
  const usesSession = required.some((requirement) => 'session' in requirement);
  return { accessToken, ...(usesCredentials ? CLIENT_CREDENTIALS : {}), ...(usesSession ? SESSION : {}) };
}
