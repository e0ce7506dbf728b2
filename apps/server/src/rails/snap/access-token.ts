import type { BankHttp } from '../bank-http.ts';
import { parseReply, textOf } from './reply.ts';
import type { SnapSettings } from './settings.ts';
import { signTokenRequest } from './signature.ts';

/** The bank refused to issue a token, or issued none that can be used. */
export class NoAccessToken extends Error {
  readonly railCode: string | null;
  readonly status: number;

  constructor(status: number, railCode: string | null) {
    super(`the bank issued no access token: HTTP ${status}, ${railCode ?? 'no response code'}`);
    this.status = status;
    this.railCode = railCode;
  }
}

export interface SnapAccessTokens {
  /** The token that is valid now, if there is one. */
  current(): string | null;
  /** The valid token, or a new one. @throws NoAccessToken, NoReply */
  get(signal: AbortSignal): Promise<string>;
  /** The bank rejected this token: the next `get` requests another. */
  discard(token: string): void;
}

/** A token is replaced this long before it expires, so that none expires in transit. */
const EXPIRY_MARGIN_MS = 30_000;
/** Bounds every token request, whatever the deadlines of the inquiries that wait for it. */
const TOKEN_DEADLINE_MS = 3_500;
/** Printable ASCII, because it is sent in a header. The length is ASPI's. */
const TOKEN = /^[!-~]{1,2048}$/;
const LIFETIME_SECONDS = /^[1-9]\d{0,8}$/;

/**
 * The B2B access token (SNAP service 73): requested when first needed, cached until it expires, with one request in
 * flight at a time. `now` returns X-TIMESTAMP.
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
    const requestedMs = performance.now();
    const { status, body: text } = await http.post(path, headers, body, AbortSignal.timeout(TOKEN_DEADLINE_MS));
    const reply = parseReply(text);
    const token = (reply && textOf(reply, 'accessToken')) ?? '';
    const lifetimeSeconds = (reply && textOf(reply, 'expiresIn')) ?? '';
    if (status !== 200 || !TOKEN.test(token) || !LIFETIME_SECONDS.test(lifetimeSeconds)) {
      throw new NoAccessToken(status, reply?.responseCode?.text ?? null);
    }
    const lifetimeMs = Number(lifetimeSeconds) * 1000;
    // Of a very short lifetime, half is used.
    current = { token, renewAtMs: requestedMs + Math.max(lifetimeMs - EXPIRY_MARGIN_MS, lifetimeMs / 2) };
    return token;
  }

  const valid = (): string | null =>
    current !== undefined && performance.now() < current.renewAtMs ? current.token : null;

  return {
    current: valid,
    get(signal) {
      const token = valid();
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

/** One token request serves all inquiries that wait for it. The deadline of one ends its own wait, not the request. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
