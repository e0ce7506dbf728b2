import type { FastifyInstance } from 'fastify';
import type { LoginAttempt, OpenIdProvider } from '../../../auth/openid-provider.ts';
import { SUBJECT_LENGTH_MAX } from '../../../auth/operator-sessions.ts';
import type { Seal } from '../../../auth/secrets.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { Log } from '../../../observability/log.ts';
import { ApiError, unavailable } from '../../errors.ts';
import { queryOf, queryParameters } from '../../query-parameters.ts';
import { beginSession, type LoginDependencies, loginRefused } from './begin-session.ts';
import { LOGIN_PATH } from './login-form.ts';
import { returnPath } from './return-to.ts';
import { createCookie } from './session-cookie.ts';

export const CALLBACK_PATH = `${LOGIN_PATH}/callback`;

export interface OidcLoginDependencies extends LoginDependencies {
  readonly provider: OpenIdProvider;
  /** Seals what a login needs until it returns, in a cookie of its browser: any process can finish it. */
  readonly seal: Seal;
  readonly isSecure: boolean;
  readonly log: Pick<Log, 'warn'>;
}

const ATTEMPT_SECONDS = 10 * 60;
const PROVIDER_RETRY_MS = 5_000;
/** A sealed attempt in base64url. */
const ATTEMPT = /^[A-Za-z0-9_-]{40,3000}$/;

interface StoredAttempt extends LoginAttempt {
  readonly returnTo: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** The login by OpenID Connect: to the provider and back. */
export function oidcLogin(app: FastifyInstance, dependencies: OidcLoginDependencies): void {
  const { provider, seal, isSecure, log, limitLogins: onRequest } = dependencies;
  const attemptCookie = createCookie('tiba-login', isSecure, ATTEMPT);

  app.get(LOGIN_PATH, { schema: { hide: true }, onRequest }, async (request, reply) => {
    const returnTo = returnPath(queryParameters(request.originalUrl, ['return_to']).return_to);
    const { url, attempt } = await provider.begin().catch(providerUnavailable);
    const stored: StoredAttempt = { ...attempt, returnTo, expiresAtMs: Date.now() + ATTEMPT_SECONDS * 1_000 };
    attemptCookie.set(reply, seal.seal(JSON.stringify(stored)).toString('base64url'), ATTEMPT_SECONDS);
    return reply.code(303).headers({ location: url, 'cache-control': 'no-store' }).send();
  });

  app.get(CALLBACK_PATH, { schema: { hide: true }, onRequest }, async (request, reply) => {
    const stored = openAttempt(seal, attemptCookie.read(request));
    if (stored === null) throw loginRefused(NOT_BEGUN_HERE);
    // Whatever becomes of it, this attempt is over.
    reply.headers(attemptCookie.removal);
    const result = await provider.finish(queryOf(request.originalUrl), stored);
    if (result.outcome === 'unavailable') return providerUnavailable(result.cause);
    if (result.outcome === 'sent back') {
      const { reason } = result;
      log.warn({ requestId: request.id, reason }, 'a login came back with an error; the person can begin another');
      throw unavailable(PROVIDER_UNAVAILABLE, PROVIDER_RETRY_MS);
    }
    if (result.outcome === 'refused') {
      log.warn({ requestId: request.id, reason: result.reason }, 'a login was refused; the person can begin another');
      throw loginRefused(PROVIDER_REFUSED);
    }
    if (result.outcome === 'unusable subject') {
      log.warn({ requestId: request.id }, 'a login has a subject that Tiba does not take; the person was not let in');
      throw loginRefused(UNUSABLE_SUBJECT);
    }
    const { subject, name, role } = result;
    if (role === null) {
      log.warn({ requestId: request.id, subject }, 'a login has no role that Tiba knows; the person was not let in');
      throw new ApiError('FORBIDDEN', { message: NO_ROLE });
    }
    const { state: loginId, returnTo } = stored;
    return beginSession(dependencies, request, reply, { person: { subject, name, role }, loginId, returnTo });
  });
}

/** Null where there is none, or one of another installation, or one that has expired. */
function openAttempt(seal: Seal, value: string | null): StoredAttempt | null {
  if (value === null) return null;
  try {
    const stored = JSON.parse(seal.open(Buffer.from(value, 'base64url'))) as StoredAttempt;
    return stored.expiresAtMs > Date.now() ? stored : null;
  } catch {
    return null;
  }
}

function providerUnavailable(cause: unknown): never {
  throw unavailable(PROVIDER_UNAVAILABLE, PROVIDER_RETRY_MS, cause);
}

const NOT_BEGUN_HERE = englishOnly('This login was not begun in this browser, or more than ten minutes ago');
const PROVIDER_REFUSED = englishOnly(
  'The identity provider did not confirm this login, or its answer belongs to another one',
);
const UNUSABLE_SUBJECT = englishOnly(
  'Your subject (sub) at the identity provider has control characters, characters that change the writing direction, ' +
    `or more than ${SUBJECT_LENGTH_MAX} characters: ask the people who administer it to change it, then log in again`,
);
const NO_ROLE = englishOnly(
  'You are known, and have no role here: ask the people who give roles at your identity provider, then log in again',
);
const PROVIDER_UNAVAILABLE = englishOnly(
  'the identity provider does not answer, or does not know Tiba as its client. Log in again in a minute; if it goes ' +
    'on, look for the request ID in the log. Sessions that have begun go on',
);
