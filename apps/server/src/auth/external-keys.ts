import { createRemoteJWKSet, type ExportedJWKSCache, errors, type JWTVerifyGetKey, jwksCache } from 'jose';
import { within } from '../lib/within.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';

/** A key that the issuer has withdrawn is accepted for so long. */
const FRESH_MS = 10 * 60_000;
/** While the issuer cannot be reached, its last keys are accepted for so long. */
const STALE_MAX_MS = 24 * 3_600_000;
const FETCH_TIMEOUT_MS = 3_000;
/** After a fetch: a token that names an unknown key causes no other one before. */
const COOLDOWN_MS = 30_000;
/** A request waits so long for keys. The whole response is promised within 5 s, and a bank has what is left of that. */
const WAIT_MS = 800;
/** And so long for newer keys than it may be verified with. */
const REFRESH_WAIT_MS = WAIT_MS / 2;

/**
 * The keys of an external issuer: fetched when first needed, when they are ten minutes old, and when a token names an
 * unknown key. When that fails, tokens are verified with the last keys, for up to a day. A fetch that takes longer than
 * a request may wait goes on for the next one. Each process fetches its own keys: it verifies tokens without
 * PostgreSQL.
 * @throws JWKSTimeout from the returned function, and what `createRemoteJWKSet` throws, when the key is not known
 */
export function externalKeys(jwksUrl: URL, log: Log): JWTVerifyGetKey {
  const cache: Partial<ExportedJWKSCache> = {};
  const remote = createRemoteJWKSet(jwksUrl, {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: STALE_MAX_MS,
    [jwksCache]: cache as ExportedJWKSCache,
  });
  const report = createFailureLog(log, "fetching the issuer's keys (TIBA_TOKEN_JWKS_URL) failed; will retry");
  let retryAtMs = 0;

  async function refresh(): Promise<void> {
    try {
      await remote.reload();
      report.succeeded();
    } catch (error) {
      retryAtMs = performance.now() + COOLDOWN_MS;
      report.failed(error);
    }
  }

  const isFresh = (): boolean => cache.uat !== undefined && Date.now() - cache.uat < FRESH_MS;

  async function findKey(...named: Parameters<JWTVerifyGetKey>) {
    if (!isFresh() && performance.now() >= retryAtMs) await within(refresh(), REFRESH_WAIT_MS, undefined);
    return remote(...named);
  }

  return async (header, token) => {
    const key = await within(findKey(header, token), WAIT_MS, null);
    if (key === null) throw new errors.JWKSTimeout();
    return key;
  };
}
