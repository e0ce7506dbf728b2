import { type AccountValidations, createAccountValidations } from './account-validations.ts';
import { type Accounts, createAccounts } from './accounts.ts';
import { type Callbacks, createCallbacks } from './callback-endpoints.ts';
import { createFinalTransactions, createStatusChecks, type StatusChecks } from './check-status.ts';
import { type Clock, shared, systemClock } from './clock.ts';
import { createEvents, type Events } from './events.ts';
import { createPacer } from './pacer.ts';
import { type Credentials, createTokenSource, type TokenSource } from './token.ts';
import { createTransactions, type Transactions } from './transactions.ts';
import { createTransport } from './transport.ts';
import { createWaitForFinal, type WaitForFinal } from './wait-for-final.ts';

interface CommonOptions {
  /** Where the service is, such as `https://tiba.example.com`. Plain `http` only for this machine. */
  readonly baseUrl: string | URL;
  /** The time for a whole call, unless the call says otherwise. 30 s. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is repeated that may be repeated. 4; with 0 each request is sent once. */
  readonly retriesMax?: number | undefined;
  /** The language of `message` and `failure_reason`; English unless given. */
  readonly language?: 'en' | 'id' | undefined;
  /** Final transactions, and verdicts, that are remembered in memory. 1,000 of each; 0 remembers none. */
  readonly rememberedMax?: number | undefined;
  /** Sends plain `http` to other machines too: only where the network itself is encrypted. */
  readonly allowPlainHttp?: boolean | undefined;
  /** Another `fetch`: with a proxy, or with certificates. */
  readonly fetch?: typeof fetch | undefined;
  /** For tests: time and timers. */
  readonly clock?: Clock | undefined;
  /** For tests: numbers from 0 up to 1. */
  readonly random?: (() => number) | undefined;
}

/**
 * Client ID and secret; or, where the secret must not be, tokens from elsewhere. `accessToken` is called for each
 * request, within the time of its call.
 */
export type TibaClientOptions = CommonOptions &
  (Credentials | { readonly accessToken: () => string | Promise<string>; readonly clientId?: undefined });

export interface TibaClient extends StatusChecks, Accounts, Callbacks {
  /**
   * Waits until a transaction is `SUCCESS` or `FAILED`.
   * @throws TibaError `STILL_IN_PROCESS` when it is still in PROCESS at the end
   */
  readonly waitForFinal: WaitForFinal;
  readonly transactions: Transactions;
  readonly accountValidations: AccountValidations;
  readonly events: Events;
}

/** A client of one service with one client ID. Make one and keep it: it holds the token and keeps to the limits. */
export function createTibaClient(options: TibaClientOptions): TibaClient {
  const { retriesMax = 4, rememberedMax = 1_000, language = null, timeoutMs = 30_000 } = options;
  const { clock = systemClock, random = Math.random } = options;
  // Called as a plain function: browsers refuse a `fetch` that is called as a method.
  const { fetch: given = fetch } = options;
  const send: typeof fetch = (input, init) => given(input, init);
  const baseUrl = checkedBaseUrl(options);
  const transport = createTransport({
    baseUrl,
    fetch: send,
    clock,
    random,
    retriesMax,
    timeoutMs,
    language,
    tokens: tokensOf(options, baseUrl, { fetch: send, clock, random, retriesMax }),
    pacer: createPacer(clock),
  });
  const finals = createFinalTransactions(clock, rememberedMax);
  return {
    ...createStatusChecks(transport, finals),
    ...createAccounts(transport, clock, rememberedMax),
    ...createCallbacks(transport),
    waitForFinal: createWaitForFinal({ transport, finals, clock, random }),
    transactions: createTransactions(transport, clock),
    accountValidations: createAccountValidations(transport, clock),
    events: createEvents(transport, clock, random),
  };
}

function tokensOf(
  options: TibaClientOptions,
  baseUrl: string,
  dependencies: Parameters<typeof createTokenSource>[2],
): TokenSource {
  if (options.clientId !== undefined) {
    return createTokenSource(options, options.tokenUrl ?? `${baseUrl}/oauth/token`, dependencies);
  }
  const { accessToken } = options;
  // A token that does not come is no reason to wait longer than the call may take.
  const ask = async (): Promise<string> => accessToken();
  return { get: (signal) => shared(ask(), signal), discard: () => undefined };
}

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** @throws TypeError when the address is no address, or would send the secret in the clear */
function checkedBaseUrl({ baseUrl, allowPlainHttp = false }: CommonOptions): string {
  const { protocol, hostname, href, search, hash } = new URL(baseUrl);
  if (protocol !== 'https:' && !(protocol === 'http:' && (allowPlainHttp || LOOPBACK.test(hostname)))) {
    throw new TypeError('baseUrl must begin with https://: otherwise the client secret is sent in the clear');
  }
  if (search !== '' || hash !== '') throw new TypeError('baseUrl must have no query and no fragment');
  return href.replace(/\/+$/, '');
}
