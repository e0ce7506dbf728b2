import { backoffMs, retryAfterMs } from './backoff.ts';
import { type Clock, pause, untilAborted } from './clock.ts';
import { TibaError } from './errors.ts';

/** Client ID and secret, as the operator has issued them. */
export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scopes, separated by spaces; all of the client unless given. */
  readonly scope?: string | undefined;
  /** Of an external issuer; `/oauth/token` of the service unless given. */
  readonly tokenUrl?: string | undefined;
}

/** Called before a request is repeated, with what failed and how long the call waits first: to show progress. */
export type OnRetry = (error: TibaError, waitMs: number) => void;

export interface TokenSource {
  /**
   * A token that is valid for a while. Callers at the same time share one login, and each is told of its repetitions
   * while it waits.
   */
  get(signal: AbortSignal, onRetry?: OnRetry): Promise<string>;
  /** The service has refused this token: the next call logs in. */
  discard(token: string): void;
}

export interface LoginDependencies {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly random: () => number;
  readonly retriesMax: number;
}

/** A login is repeated within this time. It belongs to all callers, so that none of them can end it. */
const LOGIN_MS_MAX = 15_000;
/** A token is renewed this long before it expires, or after nine tenths of its life. */
const RENEWED_BEFORE_MS = 30_000;
const OPERATION = 'createAccessToken';

export function createTokenSource(credentials: Credentials, url: string, dependencies: LoginDependencies): TokenSource {
  const { clock } = dependencies;
  let current: { readonly token: string; readonly renewAtMs: number } | null = null;
  let login: Promise<string> | null = null;
  /** Of the callers that wait for the login. */
  const listeners = new Set<OnRetry>();

  async function logIn(): Promise<string> {
    try {
      const startedMs = clock.now();
      const tellAll: OnRetry = (error, waitMs) => listeners.forEach((tell) => tell(error, waitMs));
      const { token, lifetimeMs } = await requestToken(credentials, url, dependencies, tellAll);
      const usedMs = Math.max(lifetimeMs - RENEWED_BEFORE_MS, lifetimeMs * 0.9);
      current = { token, renewAtMs: startedMs + usedMs };
      return token;
    } finally {
      login = null;
      listeners.clear();
    }
  }

  const waitFor = (running: Promise<string>, signal: AbortSignal, onRetry?: OnRetry): Promise<string> =>
    untilAborted(signal, (resolve, reject) => {
      // A listener that throws ends its own call, and not the login of the others. It is not called again.
      const tell: OnRetry = (error, waitMs) => {
        try {
          onRetry?.(error, waitMs);
        } catch (thrown) {
          listeners.delete(tell);
          reject(thrown);
        }
      };
      listeners.add(tell);
      running.then(resolve, reject);
      return () => listeners.delete(tell);
    });

  return {
    get(signal, onRetry) {
      if (current !== null && clock.now() < current.renewAtMs) return Promise.resolve(current.token);
      login ??= logIn();
      // Without a caller left, a failure is of no interest.
      login.catch(() => undefined);
      return waitFor(login, signal, onRetry);
    },
    discard(token) {
      if (current?.token === token) current = null;
    },
  };
}

interface IssuedToken {
  readonly token: string;
  readonly lifetimeMs: number;
}

/** RFC 6749, section 4.4, with HTTP Basic as section 2.3.1 encodes it. */
async function requestToken(
  { clientId, clientSecret, scope }: Credentials,
  url: string,
  { fetch, clock, random, retriesMax }: LoginDependencies,
  onRetry: OnRetry,
): Promise<IssuedToken> {
  const form = (value: string): string => new URLSearchParams([['', value]]).toString().slice(1);
  const init: RequestInit = {
    method: 'POST',
    redirect: 'manual',
    headers: {
      authorization: `Basic ${btoa(`${form(clientId)}:${form(clientSecret)}`)}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
    }).toString(),
  };
  const time = new AbortController();
  const cancel = clock.setTimer(() => time.abort(tooLate()), LOGIN_MS_MAX);
  const endsMs = clock.now() + LOGIN_MS_MAX;
  try {
    for (let attempt = 0; ; attempt += 1) {
      const result = await loginOnce(fetch, url, { ...init, signal: time.signal }).catch((cause: unknown) =>
        time.signal.aborted ? tooLate() : connectionFailed(cause),
      );
      if (!(result instanceof TibaError)) return result;
      const waitMs = (result.retryAfterMs ?? 0) + backoffMs(attempt, random);
      const passing = result.error_code === 'CONNECTION_FAILED' || (result.status ?? 0) >= 500 || result.status === 429;
      if (!passing || attempt >= retriesMax || clock.now() + waitMs >= endsMs) throw result;
      onRetry(result, waitMs);
      await pause(clock, waitMs, time.signal);
    }
  } finally {
    cancel();
  }
}

const tooLate = (): TibaError =>
  new TibaError({
    error_code: 'TIMEOUT',
    operation: OPERATION,
    message: `the login took more than ${LOGIN_MS_MAX / 1_000} s: check baseUrl and the network`,
  });

const connectionFailed = (cause: unknown): TibaError =>
  new TibaError({
    error_code: 'CONNECTION_FAILED',
    operation: OPERATION,
    message: 'no connection for the login: check baseUrl and the network; `cause` says more',
    cause,
  });

/** The token, or why there is none. */
async function loginOnce(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
): Promise<IssuedToken | TibaError> {
  const response = await fetch(url, init);
  const text = await response.text();
  const { status, headers } = response;
  const body = parseObject(text);
  const { access_token: token, expires_in: expiresIn } = body;
  if (status === 200 && typeof token === 'string' && typeof expiresIn === 'number') {
    return { token, lifetimeMs: expiresIn * 1_000 };
  }
  const details = { operation: OPERATION, status, requestId: headers.get('x-request-id') };
  if (typeof body['error'] === 'string' && status < 500) {
    const reason = typeof body['error_description'] === 'string' ? body['error_description'] : 'no reason given';
    const message = `the login was refused (${body['error']}): ${reason}`;
    return new TibaError({ ...details, error_code: 'LOGIN_FAILED', message });
  }
  const waitMs = retryAfterMs(headers) ?? 1_000;
  const again = `try again in ${Math.ceil(waitMs / 1_000)} s`;
  if (status === 429) {
    const message = `too many failed logins: check the client secret, and ${again}`;
    return new TibaError({ ...details, error_code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: waitMs, message });
  }
  if (status === 503) {
    const message = `the login is temporarily unavailable: ${again}`;
    return new TibaError({ ...details, error_code: 'SERVICE_UNAVAILABLE', retryAfterMs: waitMs, message });
  }
  const message = `what answered the login is no OAuth server: HTTP ${status}. Check baseUrl and tokenUrl`;
  return new TibaError({ ...details, error_code: 'UNEXPECTED_ANSWER', message });
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
