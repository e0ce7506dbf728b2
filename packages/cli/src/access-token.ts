import { systemClock } from '../../client/src/clock.ts';
import { createTokenSource } from '../../client/src/token.ts';
import type { Profile } from './configuration/profiles.ts';

export interface AccessToken {
  /** Null when the token of an external issuer does not say. */
  readonly scopes: readonly string[] | null;
  /** Seconds from now on; null when the token does not say. */
  readonly expiresIn: number | null;
}

/** Logs in and reads what the token grants. @throws TibaError LOGIN_FAILED when the service refuses the secret */
export async function fetchAccessToken(profile: Profile, signal: AbortSignal): Promise<AccessToken> {
  const { url, client_id: clientId, client_secret: clientSecret } = profile;
  const login = { fetch: globalThis.fetch, clock: systemClock, random: Math.random, retriesMax: 1 };
  const tokens = createTokenSource({ clientId, clientSecret }, new URL('oauth/token', folderOf(url)).href, login);
  const claims = claimsOf(await tokens.get(signal));
  const { scope, exp } = claims;
  return {
    scopes: typeof scope === 'string' ? scope.split(' ') : null,
    expiresIn: typeof exp === 'number' ? Math.round(exp - Date.now() / 1_000) : null,
  };
}

/** With a slash at its end, so that a path below it is appended. */
export const folderOf = (url: string): string => `${url.replace(/\/+$/, '')}/`;

/** RFC 9068: the token is a JWT. It is not verified here, since only the service relies on it. */
function claimsOf(token: string): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
