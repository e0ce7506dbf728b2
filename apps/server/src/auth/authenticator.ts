import type { Notifications } from '../postgres/notifications.ts';
import type { AccessToken, VerifyAccessToken } from './access-tokens.ts';
import type { Client, Clients } from './clients.ts';
import type { FailureThrottle } from './failure-throttle.ts';
import { isScope, type Scope } from './scopes.ts';

/** Who calls, and what this token lets them do. */
export interface Caller {
  readonly client: Client;
  readonly scopes: ReadonlySet<Scope>;
  /** Of the token that it came with. */
  readonly expiresAtMs: number;
}

export type Authentication =
  | { readonly outcome: 'authenticated'; readonly caller: Caller }
  /** No usable token. `presented` tells whether there was one at all (RFC 6750, section 3). */
  | { readonly outcome: 'unauthenticated'; readonly presented: boolean }
  /** This address has failed too often. */
  | { readonly outcome: 'throttled'; readonly retryAfterMs: number }
  /** Whether the client is still allowed in, or what keys its token is signed with, cannot be told now. */
  | { readonly outcome: 'unavailable'; readonly cause?: unknown };

/** Asked for its address only when something is wrong: finding it costs more than verifying a token seen before. */
interface RequestAddress {
  readonly ip: string;
}

export interface Authenticator {
  /** `authorization` is the header as it came. Answers at once for a token that was seen before. */
  authenticate(authorization: string | undefined, from: RequestAddress): Authentication | Promise<Authentication>;
  /**
   * The caller of a request that was let in before and has waited, as of now; null when it is no longer good. That is no
   * failed authentication: nobody has tried anything. `unavailable` as above.
   */
  reauthenticate(authorization: string | undefined): Promise<Caller | null | 'unavailable'>;
}

export interface AuthenticatorDependencies {
  readonly clients: Clients;
  /** Whether `clients` is up to date to within a second. */
  readonly notifications: Pick<Notifications, 'isCurrent' | 'waitUntilCurrent'>;
  readonly verify: VerifyAccessToken;
  readonly throttle: FailureThrottle;
}

/** What a token said when it was verified. What may change since, its client, is looked up each time. */
interface VerifiedToken {
  readonly clientId: string;
  readonly scopes: readonly Scope[];
  readonly issuedAtSeconds: number;
  readonly expiresAtMs: number;
  /** The caller as last made, for as long as its client stays the same object. */
  caller: Caller | undefined;
}

/** Enough for every client's current tokens. When it is full, the one verified first is forgotten. */
const VERIFIED_TOKENS_MAX = 10_000;

const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
// A signed token has a few hundred bytes; no more is spent on what is certainly none.
const TOKEN_LENGTH_MAX = 8_192;

const SCHEME = 'Bearer ';

/**
 * The header as RFC 6750, section 2.1, spells it. The scheme may come in any case, with more than one space behind (RFC 9110,
 * sections 11.1 and 11.4), but nearly nobody does that, and what is right already is not put together anew.
 */
const normalizeScheme = (authorization: string): string =>
  authorization.startsWith(SCHEME) && authorization[SCHEME.length] !== ' '
    ? authorization
    : authorization.replace(/^Bearer +/i, SCHEME);

/** The token of such a header; null where there is none. */
function tokenOf(header: string): string | null {
  if (!header.startsWith(SCHEME) || header.length > SCHEME.length + TOKEN_LENGTH_MAX) return null;
  const token = header.slice(SCHEME.length);
  return B64TOKEN.test(token) ? token : null;
}

const UNAVAILABLE: Authentication = { outcome: 'unavailable' };

export function createAuthenticator({
  clients,
  notifications,
  verify,
  throttle,
}: AuthenticatorDependencies): Authenticator {
  // By the whole header, so that a token seen before costs one look-up and no parsing; in one spelling, or a single token
  // would fill it.
  const known = new Map<string, VerifiedToken>();

  function remember(header: string, token: AccessToken): VerifiedToken {
    if (known.size >= VERIFIED_TOKENS_MAX) {
      const [oldest] = known.keys();
      if (oldest !== undefined) known.delete(oldest);
    }
    const { clientId, issuedAtSeconds, expiresAtSeconds } = token;
    const scopes = token.scopes.filter(isScope);
    const entry = { clientId, scopes, issuedAtSeconds, expiresAtMs: expiresAtSeconds * 1000, caller: undefined };
    known.set(header, entry);
    return entry;
  }

  /** The caller of a verified token, as of now; null when the token or its client is no longer good. */
  function callerOf(token: VerifiedToken): Caller | null {
    if (token.expiresAtMs <= Date.now()) return null;
    const client = clients.find(token.clientId);
    if (client === undefined || client.disabled || token.issuedAtSeconds < client.tokensValidFromSeconds) return null;
    if (token.caller?.client !== client) {
      const scopes = new Set(token.scopes.filter((scope) => client.scopes.has(scope)));
      token.caller = { client, scopes, expiresAtMs: token.expiresAtMs };
    }
    return token.caller;
  }

  function refuse({ ip: address }: RequestAddress, presented: boolean): Authentication {
    throttle.recordFailure(address);
    return { outcome: 'unauthenticated', presented };
  }

  async function verifyNew(header: string, { ip }: RequestAddress): Promise<Authentication> {
    // Taken now: a connection that is gone by the time of the verdict has no address any more.
    const from = { ip };
    const blockedMs = throttle.blockedMs(from.ip);
    if (blockedMs > 0) return { outcome: 'throttled', retryAfterMs: blockedMs };
    const token = tokenOf(header);
    if (token === null) return refuse(from, true);
    try {
      const accessToken = await verify(token);
      if (accessToken === null) return refuse(from, true);
      const caller = callerOf(remember(header, accessToken));
      return caller === null ? refuse(from, true) : { outcome: 'authenticated', caller };
    } catch (cause) {
      return { outcome: 'unavailable', cause };
    }
  }

  function judge(authorization: string | undefined, from: RequestAddress): Authentication | Promise<Authentication> {
    if (authorization === undefined) {
      const blockedMs = throttle.blockedMs(from.ip);
      return blockedMs > 0 ? { outcome: 'throttled', retryAfterMs: blockedMs } : refuse(from, false);
    }
    // Most find theirs at once, and do not pay for those who write the scheme in another way.
    const atOnce = known.get(authorization);
    const header = atOnce === undefined ? normalizeScheme(authorization) : authorization;
    const token = atOnce ?? known.get(header);
    if (token === undefined) return verifyNew(header, from);
    const caller = callerOf(token);
    if (caller !== null) return { outcome: 'authenticated', caller };
    // It may be good again one day (its client enabled); then it is verified anew.
    known.delete(header);
    const blockedMs = throttle.blockedMs(from.ip);
    return blockedMs > 0 ? { outcome: 'throttled', retryAfterMs: blockedMs } : refuse(from, true);
  }

  return {
    authenticate(authorization, from) {
      if (notifications.isCurrent()) return judge(authorization, from);
      return notifications.waitUntilCurrent().then((current) => (current ? judge(authorization, from) : UNAVAILABLE));
    },
    async reauthenticate(authorization = '') {
      if (!notifications.isCurrent() && !(await notifications.waitUntilCurrent())) return 'unavailable';
      const header = normalizeScheme(authorization);
      const token = known.get(header);
      if (token !== undefined) return callerOf(token);
      // So many others were verified meanwhile that it was forgotten.
      const verified = await verify(tokenOf(header) ?? '').catch(() => undefined);
      if (verified === undefined) return 'unavailable';
      return verified === null ? null : callerOf(remember(header, verified));
    },
  };
}
