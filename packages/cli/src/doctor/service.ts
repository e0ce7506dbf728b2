import { type AccessToken, fetchAccessToken } from '../access-token.ts';
import type { Profile } from '../configuration/profiles.ts';
import type { Connection } from '../connection.ts';
import { isTibaError, LOG_IN_AGAIN } from '../errors.ts';
import { duration } from '../output/format.ts';
import { type Finding, failureOf, ok, warning } from './finding.ts';

/** What each scope is for (docs/api.md, "Login"). */
const COMMANDS_OF_SCOPE = {
  'status:read': 'tiba status',
  'transactions:read': 'tiba list',
  'account:check': 'tiba check, check-file and banks',
  'events:read': 'tiba events and listen',
  'callbacks:manage': 'tiba callbacks',
} as const;
type Scope = keyof typeof COMMANDS_OF_SCOPE;
const SCOPES = Object.keys(COMMANDS_OF_SCOPE) as Scope[];

interface TokenCheck {
  readonly findings: readonly Finding[];
  /** Null when the login has failed. */
  readonly granted: AccessToken | null;
}

/** The login, and what it permits. */
export async function checkToken(profile: Profile, signal: AbortSignal): Promise<TokenCheck> {
  try {
    const granted = await fetchAccessToken(profile, signal);
    const { expiresIn, scopes } = granted;
    const valid = expiresIn === null ? 'issued' : `valid for ${duration(expiresIn * 1_000)}`;
    return { findings: [ok('token', valid), scopesOf(scopes)], granted };
  } catch (error) {
    return { findings: [failureOf('token', error, LOG_IN_AGAIN)], granted: null };
  }
}

function scopesOf(scopes: readonly string[] | null): Finding {
  if (scopes === null) return ok('scopes', 'the token does not say');
  const missing = SCOPES.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return ok('scopes', scopes.join(', '));
  const without = missing.map((scope) => `${scope} (${COMMANDS_OF_SCOPE[scope]})`).join(', ');
  return warning('scopes', scopes.join(', '), `Not granted: ${without}. Ask the operator for what you need.`);
}

/** A request of each limited operation that asks for next to nothing. check-account is left out: it asks a bank. */
const PROBES: { readonly [Each in Scope]?: (connection: Connection, signal: AbortSignal) => Promise<unknown> } = {
  'status:read': ({ client }, signal) => client.checkStatus('tiba-doctor', { signal }),
  'transactions:read': ({ client }, signal) => client.transactions.page({ limit: 1 }, { signal }),
  'account:check': ({ client }, signal) => client.banks.list({ signal }),
  'events:read': ({ client }, signal) => client.events.page({ limit: 1 }, { signal }),
  'callbacks:manage': ({ client }, signal) => client.callbackEndpoints.list({ signal }),
};

/** What is left of each limit, by the headers of the service (docs/contract.md 8.2). */
export async function* checkLimits(
  connection: Connection,
  scopes: readonly string[] | null,
  signal: AbortSignal,
): AsyncGenerator<Finding, void, undefined> {
  for (const scope of SCOPES.filter((each) => scopes === null || scopes.includes(each))) {
    let headers = new Headers();
    connection.onAnswer = (answer) => {
      headers = answer.headers;
    };
    try {
      await PROBES[scope]?.(connection, signal);
    } catch (error) {
      if (!isTibaError(error) || error.error_code !== 'TRANSACTION_NOT_FOUND') {
        yield failureOf(scope, error, 'Tell the operator of the service.');
        continue;
      }
    }
    const found = limitOf(headers);
    if (found !== null) yield found;
  }
}

function limitOf(headers: Headers): Finding | null {
  const [, name = '', left] = /"([^"]+)";r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? [];
  const [, limit, seconds] = /;q=(\d+);w=(\d+)/.exec(headers.get('ratelimit-policy') ?? '') ?? [];
  if (left === undefined || limit === undefined) return null;
  const message = `${name}: ${left} of ${limit} requests in ${seconds} s are left`;
  if (Number(left) * 10 >= Number(limit)) return ok('limit', message);
  return warning('limit', message, 'Another program of this client uses it up: prefer batches, callbacks or events.');
}
