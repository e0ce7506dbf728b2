import type { Notifications } from '../postgres/notifications.ts';
import { type AccessToken, claimedClientId, type VerifyAccessToken } from './access-tokens.ts';
import type { Client, Clients } from './clients.ts';
import type { FailureThrottle } from './failure-throttle.ts';
import type { PersonInSession } from './operator-sessions.ts';
import { isScope, type Scope } from './scopes.ts';

/** The client that sent a request, and what its token permits. */
export interface Caller {
  readonly client: Client;
  readonly scopes: ReadonlySet<Scope>;
  /** When its access token expires. */
  readonly expiresAtMs: number;
  /** Of a request that a person sends with a session; absent for machines. */
  readonly person?: PersonInSession;
}

export type Authentication =
  | { readonly outcome: 'authenticated'; readonly caller: Caller }
  /** No usable token. `presented` says whether the request had one at all (RFC 6750, section 3). */
  | { readonly outcome: 'unauthenticated'; readonly presented: boolean }
  /** Authentication failed, and too many of this client from this address have failed before. */
  | { readonly outcome: 'throttled'; readonly retryAfterMs: number }
  /** The client's current state, or the key that the token is signed with, cannot be read now. */
  | { readonly outcome: 'unavailable'; readonly cause?: unknown };

/** The address is read only when authentication fails: computing it costs more than verifying a token seen before. */
interface RequestAddress {
  readonly ip: string;
}

export interface Authenticator {
  /**
   * `authorization` is the header as received. Returns without a promise for a token that was verified before, while
   * the clients in memory are current.
   */
  authenticate(authorization: string | undefined, from: RequestAddress): Authentication | Promise<Authentication>;
  /**
   * The current caller of a token that was verified before, with the header as it was then; null for any other. Counts
   * nothing: `authenticate` says what is wrong.
   */
  knownCaller(authorization: string | undefined): Caller | null;
  /**
   * The current caller of a request that was authenticated before and has waited since; null when its token or its
   * client is no longer valid. That does not count as a failed authentication, because the client tried nothing.
   * `unavailable` as above.
   */
  reauthenticate(authorization: string | undefined): Promise<Caller | null | 'unavailable'>;
}

export interface AuthenticatorDependencies {
  readonly clients: Clients;
  /** Says whether `clients` is current to within a second. */
  readonly notifications: Pick<Notifications, 'isCurrent' | 'waitUntilCurrent'>;
  readonly verify: VerifyAccessToken;
  readonly throttle: FailureThrottle;
}

const UNAVAILABLE: Authentication = { outcome: 'unavailable' };

export function createAuthenticator(dependencies: AuthenticatorDependencies): Authenticator {
  const { clients, notifications } = dependencies;
  const state: AuthenticatorState = { ...dependencies, verified: new Map() };
  return {
    authenticate(authorization, from) {
      if (notifications.isCurrent()) return authenticateHeader(state, authorization, from);
      return notifications
        .waitUntilCurrent()
        .then((current) => (current ? authenticateHeader(state, authorization, from) : UNAVAILABLE));
    },
    knownCaller(authorization = '') {
      const token = notifications.isCurrent() ? state.verified.get(authorization) : undefined;
      return token === undefined ? null : callerOf(clients, token);
    },
    async reauthenticate(authorization = '') {
      if (!notifications.isCurrent() && !(await notifications.waitUntilCurrent())) return 'unavailable';
      const header = normalizeScheme(authorization);
      const token = state.verified.get(header);
      if (token !== undefined) return callerOf(clients, token);
      // The cache was full and has dropped this token meanwhile.
      const accessToken = await dependencies.verify(tokenOf(header) ?? '').catch(() => undefined);
      if (accessToken === undefined) return 'unavailable';
      return accessToken === null ? null : callerOf(clients, remember(state.verified, header, accessToken));
    },
  };
}

interface AuthenticatorState extends AuthenticatorDependencies {
  readonly verified: VerifiedTokens;
}

/** The claims of a token that was verified. The state of its client may change since, and is looked up each time. */
interface VerifiedToken {
  readonly clientId: string;
  readonly scopes: readonly Scope[];
  readonly issuedAtSeconds: number;
  readonly expiresAtMs: number;
  /** The caller as last built; valid as long as its client is the same object. */
  caller: Caller | undefined;
}

/**
 * By the whole header, so that a token seen before costs one look-up and no parsing. The scheme has one spelling in it,
 * or a single token, spelled in many ways, could fill the map.
 */
type VerifiedTokens = Map<string, VerifiedToken>;

/** Enough for every client's current tokens. When it is full, the token verified first is dropped. */
const VERIFIED_TOKENS_MAX = 10_000;

function authenticateHeader(
  state: AuthenticatorState,
  authorization: string | undefined,
  from: RequestAddress,
): Authentication | Promise<Authentication> {
  if (authorization === undefined) return failed(state, from, { presented: false, clientId: null });
  // Most headers are found as received, and do not pay for the ones that spell the scheme in another way.
  const exact = state.verified.get(authorization);
  const header = exact === undefined ? normalizeScheme(authorization) : authorization;
  const token = exact ?? state.verified.get(header);
  if (token === undefined) return verifyNewToken(state, header, from);
  const caller = callerOf(state.clients, token);
  if (caller !== null) return { outcome: 'authenticated', caller };
  // The token may become valid again (when its client is enabled); then it is verified again.
  state.verified.delete(header);
  return failed(state, from, { presented: true, clientId: token.clientId });
}

async function verifyNewToken(
  state: AuthenticatorState,
  header: string,
  { ip }: RequestAddress,
): Promise<Authentication> {
  // Read now: a connection that has closed before the token is verified has no address any more.
  const from = { ip };
  const token = tokenOf(header);
  if (token === null) return failed(state, from, { presented: true, clientId: null });
  try {
    const accessToken = await state.verify(token);
    const caller = accessToken === null ? null : callerOf(state.clients, remember(state.verified, header, accessToken));
    if (caller === null) return failed(state, from, { presented: true, clientId: claimedClientId(token) });
    return { outcome: 'authenticated', caller };
  } catch (cause) {
    return { outcome: 'unavailable', cause };
  }
}

function failed(
  { throttle }: AuthenticatorState,
  { ip }: RequestAddress,
  { presented, clientId }: { readonly presented: boolean; readonly clientId: string | null },
): Authentication | Promise<Authentication> {
  const answer = (retryAfterMs: number): Authentication =>
    retryAfterMs > 0 ? { outcome: 'throttled', retryAfterMs } : { outcome: 'unauthenticated', presented };
  const retryAfterMs = throttle.recordFailure(ip, clientId);
  return retryAfterMs instanceof Promise ? retryAfterMs.then(answer) : answer(retryAfterMs);
}

function remember(verified: VerifiedTokens, header: string, token: AccessToken): VerifiedToken {
  if (verified.size >= VERIFIED_TOKENS_MAX) {
    const [oldest] = verified.keys();
    if (oldest !== undefined) verified.delete(oldest);
  }
  const { clientId, issuedAtSeconds, expiresAtSeconds } = token;
  const scopes = token.scopes.filter(isScope);
  const entry = { clientId, scopes, issuedAtSeconds, expiresAtMs: expiresAtSeconds * 1000, caller: undefined };
  verified.set(header, entry);
  return entry;
}

/** The current caller of a verified token; null when the token or its client is no longer valid. */
function callerOf(clients: Clients, token: VerifiedToken): Caller | null {
  if (token.expiresAtMs <= Date.now()) return null;
  const client = clients.find(token.clientId);
  if (client === undefined || client.disabled || token.issuedAtSeconds < client.tokensValidFromSeconds) return null;
  if (token.caller?.client !== client) {
    const scopes = new Set(token.scopes.filter((scope) => client.scopes.has(scope)));
    token.caller = { client, scopes, expiresAtMs: token.expiresAtMs };
  }
  return token.caller;
}

const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
// A signed token has a few hundred bytes. Nothing is spent on a longer text, which cannot be one.
const TOKEN_LENGTH_MAX = 8_192;

const SCHEME = 'Bearer ';

/**
 * The header as RFC 6750, section 2.1, spells it. The scheme may come in any case, followed by more than one space (RFC
 * 9110, sections 11.1 and 11.4), but hardly any client does that, and a header that is right already is not built anew.
 */
const normalizeScheme = (authorization: string): string =>
  authorization.startsWith(SCHEME) && authorization[SCHEME.length] !== ' '
    ? authorization
    : authorization.replace(/^Bearer +/i, SCHEME);

/** Whether a header has the form of RFC 6750, section 2.1, whatever its token is worth. */
export const hasBearerToken = (authorization: string): boolean => tokenOf(normalizeScheme(authorization)) !== null;

/** The token in a header with a normalized scheme; null where there is none. */
function tokenOf(header: string): string | null {
  if (!header.startsWith(SCHEME) || header.length > SCHEME.length + TOKEN_LENGTH_MAX) return null;
  const token = header.slice(SCHEME.length);
  return B64TOKEN.test(token) ? token : null;
}
