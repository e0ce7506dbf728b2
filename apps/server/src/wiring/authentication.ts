import {
  builtInKeys,
  createAccessTokenIssuer,
  createAccessTokenVerifier,
  externalKeys,
  type IssueAccessToken,
} from '../auth/access-tokens.ts';
import { createAuthenticator } from '../auth/authenticator.ts';
import { createFailureThrottle } from '../auth/failure-throttle.ts';
import type { Scope } from '../auth/scopes.ts';
import { createGate, createRecheck, type Gate, type Recheck } from '../http/gate.ts';
import type { BuiltInIssuer } from '../http/public.ts';
import { createSlidingWindow } from '../limits/sliding-window.ts';
import type { Stage } from './parts.ts';
import type { Store } from './store.ts';

/** Who is let in, and how often. */
export interface Authentication {
  readonly gate: Gate;
  readonly recheckFor: (scope: Scope) => Recheck;
  readonly issue: IssueAccessToken;
  /** Null when an external issuer gives the tokens. */
  readonly issuer: BuiltInIssuer | null;
}

/** `publicUrl` is known when the public listener is open, and asked for only then. */
export function openAuthentication({ options, metrics }: Stage, store: Store, publicUrl: () => string): Authentication {
  const { settings, limitClock: clock = () => performance.now() } = options;
  const { clients, keys, notifications } = store;
  const throttle = createFailureThrottle(
    createSlidingWindow(clock),
    settings.authenticationFailuresPerMinute,
    options.logging.log,
  );
  const issuer = (): string => settings.tokenIssuer ?? publicUrl();
  const expected = { issuer, audience: () => settings.tokenAudience ?? publicUrl() };
  const verify = createAccessTokenVerifier(
    settings.tokenJwksUrl === null ? builtInKeys(keys) : externalKeys(new URL(settings.tokenJwksUrl)),
    expected,
  );
  const issue = createAccessTokenIssuer(keys, expected);
  const authenticator = createAuthenticator({ clients, notifications, verify, throttle });
  return {
    gate: createGate({ authenticator, limiter: createSlidingWindow(clock), metrics }),
    recheckFor: (scope) => createRecheck(authenticator, scope),
    issue,
    issuer:
      settings.tokenIssuer === null
        ? {
            url: issuer,
            keys,
            issue,
            endpoint: { clients, notifications, throttle, lifetimeSeconds: settings.tokenSeconds },
          }
        : null,
  };
}
