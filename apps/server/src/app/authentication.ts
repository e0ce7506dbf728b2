import {
  builtInKeys,
  createAccessTokenIssuer,
  createAccessTokenVerifier,
  type IssueAccessToken,
} from '../auth/access-tokens.ts';
import { type Authenticator, createAuthenticator } from '../auth/authenticator.ts';
import { externalKeys } from '../auth/external-keys.ts';
import { createFailureThrottle, type FailureThrottle } from '../auth/failure-throttle.ts';
import type { Scope } from '../auth/scopes.ts';
import { createSecretUses } from '../auth/secret-uses.ts';
import { type Authorize, createAuthorize, createReauthorize, type Reauthorize } from '../http/authorize.ts';
import type { BuiltInIssuer } from '../http/oauth/authorization-server.ts';
import { type CountCost, createCountCost } from '../http/request-cost.ts';
import { acceptClientCertificates } from '../http/tls/client-certificates.ts';
import type { Limiter } from '../rate-limit/limiter.ts';
import type { AppContext } from './app-context.ts';
import type { PostgresServices } from './postgres.ts';
import type { SharedLimits } from './shared-limits.ts';

/** Authenticates callers, and limits their requests. */
export interface Authentication {
  readonly authenticator: Authenticator;
  readonly throttle: FailureThrottle;
  readonly limiter: Limiter;
  readonly authorize: Authorize;
  /** Of the operator listener, which may know its clients by their certificates. */
  readonly authorizeOperator: Authorize;
  readonly countCost: CountCost;
  readonly reauthorizeFor: (scope: Scope) => Reauthorize;
  readonly issue: IssueAccessToken;
  /** Null when an external issuer issues the access tokens. */
  readonly issuer: BuiltInIssuer | null;
}

/** `publicUrl` is known once the public listener is open; it is called only after that. */
export function openAuthentication(
  { options, metrics }: AppContext,
  postgres: PostgresServices,
  { sharedLimits, publicUrl }: { readonly sharedLimits: SharedLimits; readonly publicUrl: () => string },
): Authentication {
  const { settings } = options;
  const { clients, keys, notifications } = postgres;
  const throttle = createFailureThrottle({
    limiter: sharedLimits.createLimiter('failed-authentications'),
    warnings: sharedLimits.createLimiter('failed-authentication-warnings'),
    failuresPerMinute: settings.authenticationFailuresPerMinute,
    clientExists: (clientId) => clients.find(clientId) !== undefined,
    log: options.logging.log,
  });
  const issuer = (): string => settings.tokenIssuer ?? publicUrl();
  const expected = { issuer, audience: () => settings.tokenAudience ?? publicUrl() };
  const verify = createAccessTokenVerifier(
    settings.tokenJwksUrl === null
      ? builtInKeys(keys)
      : externalKeys(new URL(settings.tokenJwksUrl), options.logging.log),
    expected,
  );
  const issue = createAccessTokenIssuer(keys, expected);
  const authenticator = createAuthenticator({ clients, notifications, verify, throttle });
  const limiter = sharedLimits.createLimiter('requests');
  const authorize = createAuthorize({ authenticator, limiter, metrics });
  return {
    authenticator,
    throttle,
    limiter,
    authorize,
    authorizeOperator:
      settings.operatorTlsClientCaFile === null
        ? authorize
        : createAuthorize({
            authenticator: acceptClientCertificates({ authenticator, clients, notifications }),
            limiter,
            metrics,
          }),
    countCost: createCountCost(limiter, 'check-status'),
    reauthorizeFor: (scope) => createReauthorize(authenticator, scope),
    issue,
    issuer:
      settings.tokenIssuer === null
        ? {
            url: issuer,
            keys,
            issue,
            endpoint: {
              clients,
              notifications,
              throttle,
              secretUses: createSecretUses(postgres.database, options.logging.log),
              lifetimeSeconds: settings.tokenSeconds,
            },
          }
        : null,
  };
}
