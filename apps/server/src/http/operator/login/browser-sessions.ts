import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Caller } from '../../../auth/authenticator.ts';
import type { Client } from '../../../auth/clients.ts';
import type { FailureThrottle } from '../../../auth/failure-throttle.ts';
import {
  actorOfPerson,
  isCsrfToken,
  type OperatorSessions,
  type PersonInSession,
} from '../../../auth/operator-sessions.ts';
import { hasRole, ROLE_OF_SCOPE, type Role } from '../../../auth/roles.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { type Authorize, checkAccept } from '../../authorize.ts';
import { ApiError, bearerChallenge, tooManyRequests } from '../../errors.ts';
import type { Cookie } from './session-cookie.ts';

export interface BrowserSessionsDependencies {
  readonly sessions: Pick<OperatorSessions, 'find'>;
  readonly cookie: Cookie;
  /** Counts cookies without a session as it counts access tokens that are none. */
  readonly throttle: FailureThrottle;
}

/** People who use the operator API in a browser: their cookie is what an access token is for a machine. */
export interface BrowserSessions {
  /** For operations of machines and people. A request with an `Authorization` header is judged by that alone. */
  readonly authorize: Authorize;
  /** For operations of people alone, with this role at the least. */
  readonly requireRole: (role: Role) => onRequestHookHandler;
}

export function createBrowserSessions(
  byToken: Authorize,
  { sessions, cookie, throttle }: BrowserSessionsDependencies,
): BrowserSessions {
  async function authenticate(request: FastifyRequest, secret: string): Promise<PersonInSession> {
    const person = await sessions.find(secret);
    if (person === null) {
      const throttledMs = await throttle.recordFailure(request.ip, null);
      throw throttledMs > 0 ? tooManyRequests(throttledMs, TOO_MANY_COOKIES) : noSession(SESSION_ENDED, cookie.removal);
    }
    assertSameOrigin(request, secret);
    request.caller = callerOf(person);
    return person;
  }

  const authorize: Authorize = (options) => {
    const { scope, role = ROLE_OF_SCOPE[scope], alternativeTypes = [] } = options;
    const tokenHook = byToken(options);
    return function (request, reply, done) {
      const secret = request.headers.authorization === undefined ? cookie.read(request) : null;
      if (secret === null) {
        tokenHook.call(this, request, reply, done);
        return;
      }
      const proceed = (person: PersonInSession): void => {
        const isPermitted = role !== null && hasRole(person.role, role);
        done(isPermitted ? checkAccept(request, alternativeTypes) : forbidden(person.role, role));
      };
      authenticate(request, secret).then(proceed, done);
    };
  };

  const requireRole: BrowserSessions['requireRole'] = (role) => (request, _reply, done) => {
    const secret = cookie.read(request);
    const proceed = (person: PersonInSession): void =>
      done(hasRole(person.role, role) ? checkAccept(request, []) : forbidden(person.role, role));
    if (request.headers.authorization !== undefined)
      done(new ApiError('FORBIDDEN', { message: PEOPLE_ONLY, headers: bearerChallenge() }));
    else if (secret === null) done(noSession(NO_SESSION));
    else authenticate(request, secret).then(proceed, done);
  };

  return { authorize, requireRole };
}

/** The person of a request that `requireRole` has let in. */
export function personOf({ caller }: FastifyRequest): PersonInSession {
  if (caller?.person === undefined) throw new Error('a route for people reads the person of a machine');
  return caller.person;
}

/**
 * A page elsewhere can have a browser send the cookie, but it can neither read nor guess the token (OWASP, cross-site
 * request forgery). Current browsers say as well where the request comes from (W3C Fetch Metadata).
 */
function assertSameOrigin({ method, headers }: FastifyRequest, secret: string): void {
  if (method === 'GET' || method === 'HEAD') return;
  const site = headers['sec-fetch-site'];
  const token = headers['x-csrf-token'];
  const isOwn = (site === undefined || site === 'same-origin') && typeof token === 'string';
  if (!isOwn || !isCsrfToken(secret, token))
    throw new ApiError('FORBIDDEN', { message: NO_CSRF_TOKEN, headers: bearerChallenge() });
}

const NO_CSRF_TOKEN = englishOnly(
  'A request that changes something needs the csrf_token of GET /operator/v1/session in the header X-CSRF-Token, and ' +
    'must come from a page of this listener',
);
const PEOPLE_ONLY = englishOnly(
  'This is for people: a person decides here, with a session and without an access token',
);
const NO_SESSION = englishOnly('You are not logged in: log in at /operator/login');
const TOO_MANY_COOKIES = englishOnly(
  'Too many cookies without a session from this address: log in again at /operator/login',
);
const SESSION_ENDED = englishOnly('Your session has ended: log in again at /operator/login');

const noSession = (message: ReturnType<typeof englishOnly>, headers: Readonly<Record<string, string>> = {}): ApiError =>
  new ApiError('UNAUTHORIZED', { message, headers: { ...headers, ...bearerChallenge() } });

/** The person lacks a role. */
export const forbidden = (own: Role, needed: Role | null): ApiError =>
  new ApiError('FORBIDDEN', {
    message: englishOnly(
      needed === null
        ? 'This operation is for machines only: send an access token with its scope'
        : `Your role is ${own}, and this needs the role ${needed}: ask the people who give roles at your login, then ` +
            'log in again',
    ),
    headers: bearerChallenge(),
  });

const callerOf = (person: PersonInSession): Caller => ({
  client: { ...NO_CLIENT, clientId: actorOfPerson(person) },
  scopes: NO_CLIENT.scopes,
  expiresAtMs: Date.parse(person.expiresAt),
  person,
});

/** A person is no client of the API: it has no scope there, and no limit admits a request of it. */
const NO_CLIENT: Client = {
  clientId: '',
  secretHash: Buffer.alloc(0),
  secondSecretHash: null,
  scopes: new Set(),
  limits: {
    'check-status': 0,
    'check-account': 0,
    events: 0,
    callbacks: 0,
    banks: 0,
    'account-validations': 0,
    transactions: 0,
    'account-checks': 0,
    'accounts-per-day': 0,
  },
  tokensValidFromSeconds: 0,
  disabled: false,
  trusted: false,
  snap: null,
};
