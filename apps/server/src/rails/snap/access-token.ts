import type { BankHttp } from '../bank-http.ts';
import { parseReply, textOf } from './reply.ts';
import type { SnapSettings } from './settings.ts';
import { signTokenRequest } from './signature.ts';

/** The bank refused to give a token, or gave none that can be used. */
export class NoAccessToken extends Error {
  readonly railCode: string | null;
  readonly status: number;

  constructor(status: number, railCode: string | null) {
    super(`the bank gave no access token: HTTP ${status}, ${railCode ?? 'no response code'}`);
    this.status = status;
    this.railCode = railCode;
  }
}

export interface SnapAccessTokens {
  /** The token that is good now, if there is one. */
  current(): string | null;
  /** Obtains one if need be. @throws NoToken, NoReply */
  get(signal: AbortSignal): Promise<string>;
  /** The bank refused this token: the next `get` obtains another. */
  discard(token: string): void;
}

/** A token is replaced this long before it expires, so that none expires on its way. */
const MARGIN_MS = 30_000;
/** A bank that is asked for tokens is not waited for longer than this, whoever waits. */
const TOKEN_DEADLINE_MS = 3_500;
/** Printable ASCII, as it goes into a header; the length is ASPI's. */
const TOKEN = /^[!-~]{1,2048}$/;
const LIFETIME_SECONDS = /^[1-9]\d{0,8}$/;

/**
 * The B2B access token (SNAP service 73): obtained when first needed, kept until it expires, asked for once at a time.
 * `now` writes X-TIMESTAMP.
 */
export function createSnapAccessTokens(
  http: BankHttp,
  path: string,
  now: () => string,
  settings: SnapSettings,
): SnapAccessTokens {
  let current: { readonly token: string; readonly renewAtMs: number } | undefined;
  let renewal: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const timestamp = now();
    const headers = {
      'content-type': 'application/json',
      'x-timestamp': timestamp,
      'x-client-key': settings.clientKey,
      'x-signature': signTokenRequest(settings.privateKey, settings.clientKey, timestamp),
    };
    const body = '{"grantType":"client_credentials"}';
    const askedMs = performance.now();
    const { status, body: text } = await http.post(path, headers, body, AbortSignal.timeout(TOKEN_DEADLINE_MS));
    const reply = parseReply(text);
    const token = (reply && textOf(reply, 'accessToken')) ?? '';
    const lifetimeSeconds = (reply && textOf(reply, 'expiresIn')) ?? '';
    if (status !== 200 || !TOKEN.test(token) || !LIFETIME_SECONDS.test(lifetimeSeconds)) {
      throw new NoAccessToken(status, reply?.responseCode?.text ?? null);
    }
    const lifetimeMs = Number(lifetimeSeconds) * 1000;
    // Of a very short life, half is used.
    current = { token, renewAtMs: askedMs + Math.max(lifetimeMs - MARGIN_MS, lifetimeMs / 2) };
    return token;
  }

  const good = (): string | null =>
    current !== undefined && performance.now() < current.renewAtMs ? current.token : null;

  return {
    current: good,
    get(signal) {
      const token = good();
      if (token !== null) return Promise.resolve(token);
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
      return untilAborted(renewal, signal);
    },
    discard(token) {
      if (current?.token === token) current = undefined;
    },
  };
}

/** One renewal serves all who wait for it, so nobody's own deadline may end it: it only ends his waiting. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
