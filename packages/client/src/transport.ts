import { backoffMs, retryAfterMs } from './backoff.ts';
import type { AnswerDetails, WithResponse } from './call.ts';
import { type Clock, pause } from './clock.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { parseExact } from './decimal.ts';
import { type ErrorCode, isKnownCode, TibaError } from './errors.ts';
import { OPERATIONS, type Operations } from './generated/api.ts';
import { limitOf, type Pacer } from './pacer.ts';
import type { OnRetry, TokenSource } from './token.ts';

export type OperationId = keyof Operations;

/** What every call takes. */
export interface CallOptions {
  /** Ends the call at once, whatever it is doing: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The time for the whole call: pacing, login, connecting, headers, body and repetitions count. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called before a request or its login (`error.operation` is `createAccessToken`) is repeated, with what failed and
   * how long the call waits first: to show progress.
   */
  readonly onRetry?: OnRetry | undefined;
}

/** One request, before it is known how often it is sent. */
export interface RequestPlan<Id extends OperationId> {
  readonly operation: Id;
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Blob | undefined;
  /** As how many requests the service counts it. */
  readonly cost?: number | undefined;
  /** The service may hold the request open before it answers. */
  readonly heldOpen?: boolean | undefined;
  /** The caller repeats it by itself. */
  readonly once?: boolean | undefined;
}

export interface TransportOptions {
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly random: () => number;
  readonly tokens: TokenSource;
  readonly pacer: Pacer;
  readonly retriesMax: number;
  readonly timeoutMs: number;
  readonly language: string | null;
}

export interface Transport {
  /** The data of an answer in the envelope. */
  json<Id extends OperationId>(
    plan: RequestPlan<Id>,
    options?: CallOptions,
  ): Promise<WithResponse<Operations[Id]['data']>>;
  /** What `read` makes of a successful answer, within the time of the call. `read` may be repeated. */
  read<T>(plan: RequestPlan<OperationId>, options: CallOptions, read: Read<T>): Promise<T>;
}

/** What may be over with the next request. */
export const PASSING: readonly ErrorCode[] = [
  'CONNECTION_FAILED',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMIT_EXCEEDED',
  'REQUEST_TIMEOUT',
  'TIMEOUT',
];

/** A proxy in front of the service, not the service, reports a fault. */
export const isProxyError = ({ error_code: code, status }: TibaError): boolean =>
  code === 'UNEXPECTED_ANSWER' && (status ?? 0) >= 500;

export type Read<T> = (response: Response, deadline: Deadline) => Promise<T>;

/** Sending one of these twice does something twice. They are repeated only when they were refused before. */
const UNSAFE: ReadonlySet<OperationId> = new Set<OperationId>([
  'registerCallbackEndpoint',
  'rotateCallbackSecret',
  'testCallbackEndpoint',
  'replayCallbackDelivery',
  'replayCallbackDeliveries',
]);

/**
 * No call is held up longer than this by one `Retry-After`: the caller hears of it and decides. A limit has room again
 * within a minute; what asks for more is no matter of waiting.
 */
const WAIT_MS_MAX = 90_000;

export function createTransport(options: TransportOptions): Transport {
  const { clock, random, pacer, retriesMax } = options;

  async function readAnswer<T>(plan: RequestPlan<OperationId>, callOptions: CallOptions, read: Read<T>): Promise<T> {
    const { signal, timeoutMs = options.timeoutMs, onRetry } = callOptions;
    const deadline = startDeadline(clock, timeoutMs, signal);
    let latest: TibaError | null = null;
    try {
      for (let attempt = 0; ; attempt += 1) {
        const result = await sendOnce(options, plan, { deadline, onRetry }, read);
        if (!(result instanceof TibaError)) return result.value;
        const renewed = result.error_code === 'UNAUTHORIZED' && latest?.error_code === 'UNAUTHORIZED';
        latest = result;
        const waitMs = (result.retryAfterMs ?? 0) + backoffMs(attempt, random);
        const fits = waitMs <= WAIT_MS_MAX && waitMs < deadline.remainingMs();
        if (plan.once === true || attempt >= retriesMax || !fits || renewed || !mayRepeat(plan.operation, result))
          throw result;
        // A new token is obtained at once.
        if (result.error_code === 'UNAUTHORIZED') continue;
        onRetry?.(result, waitMs);
        await pause(clock, waitMs, deadline.signal);
      }
    } catch (error) {
      if (!deadline.isOver()) throw error;
      throw timedOut(plan.operation, timeoutMs, latest ?? error);
    } finally {
      deadline.end();
    }
  }

  return {
    read: readAnswer,
    json: (plan, callOptions = {}) =>
      readAnswer(plan, callOptions, async (response) => {
        const { data, message } = parseEnvelope(plan.operation, response, await response.text());
        return { data: data as never, response: detailsOf(response, message) };
      }),
  };

  function timedOut(operation: OperationId, timeoutMs: number, cause: unknown): TibaError {
    const waitMs = pacer.waitMs(limitOf(OPERATIONS[operation][1]));
    const limit = waitMs > 0 ? ' It waited for the rate limit: send fewer requests, or give it more time.' : '';
    const message = `no answer within ${timeoutMs} ms. Repeat it, or give it more time with timeoutMs.${limit}`;
    return new TibaError({ error_code: 'TIMEOUT', operation, message, cause });
  }
}

function mayRepeat(operation: OperationId, error: TibaError): boolean {
  if (error.error_code === 'RATE_LIMIT_EXCEEDED' || error.error_code === 'UNAUTHORIZED') return true;
  return !UNSAFE.has(operation) && (PASSING.includes(error.error_code) || isProxyError(error));
}

/** Sends the request and reads its answer; a failure that may pass is a value. @throws what ends the call */
async function sendOnce<T>(
  options: TransportOptions,
  plan: RequestPlan<OperationId>,
  { deadline, onRetry }: { readonly deadline: Deadline; readonly onRetry: OnRetry | undefined },
  read: Read<T>,
): Promise<{ readonly value: T } | TibaError> {
  const { tokens, pacer } = options;
  const { operation } = plan;
  const limit = limitOf(OPERATIONS[operation][1]);
  const pacedMs = pacer.waitMs(limit);
  if (pacedMs > deadline.remainingMs()) throw notSent(operation, limit, pacedMs);
  const token = await tokens.get(deadline.signal, onRetry);
  const heldOpen = plan.heldOpen === true;
  const permit = await pacer.acquire(limit, { cost: plan.cost ?? 1, heldOpen }, deadline.signal);
  let response: Response | null = null;
  try {
    response = await options.fetch(addressOf(options.baseUrl, plan), requestOf(options, plan, token, deadline.signal));
    // A stream is counted when it begins, and anything else when its answer has come.
    permit.done(response);
    if (response.ok) return { value: await read(response, deadline) };
    const error = errorOf(operation, response, await response.text());
    if (error.error_code === 'UNAUTHORIZED') tokens.discard(token);
    return error;
  } catch (error) {
    if (response === null) permit.done(null);
    if (deadline.signal.aborted) throw deadline.signal.reason;
    if (error instanceof TibaError) return error;
    const message = 'no answer: the connection failed or broke. Check baseUrl and the network; `cause` says more';
    return new TibaError({ error_code: 'CONNECTION_FAILED', operation, message, cause: error });
  }
}

const notSent = (operation: OperationId, limit: string, waitMs: number): TibaError =>
  new TibaError({
    error_code: 'RATE_LIMIT_EXCEEDED',
    operation,
    retryAfterMs: Math.ceil(waitMs),
    message: `not sent: the limit of ${limit} has room in ${Math.ceil(waitMs)} ms, after the end of this call`,
  });

function addressOf(baseUrl: string, { operation, path = {}, query }: RequestPlan<OperationId>): string {
  const route = OPERATIONS[operation][1].replace(/\{(\w+)\}/, (_, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  );
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${baseUrl}${route}${search === '' ? '' : `?${search}`}`;
}

function requestOf(
  { language }: TransportOptions,
  { operation, headers, body }: RequestPlan<OperationId>,
  token: string,
  signal: AbortSignal,
): RequestInit {
  return {
    method: OPERATIONS[operation][0],
    // A redirect would carry the token elsewhere, or make a POST a GET.
    redirect: 'manual',
    signal,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${token}`,
      ...(language === null ? {} : { 'accept-language': language }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  };
}

interface Envelope {
  readonly data: unknown;
  readonly message: string;
}

/** @throws TibaError UNEXPECTED_ANSWER when it is no success in the envelope (docs/contract.md 2.1) */
export function parseEnvelope(operation: OperationId, response: Response, text: string): Envelope {
  const envelope = objectIn(text);
  if (envelope?.['success'] === true) return { data: envelope['data'], message: textOf(envelope['message']) };
  throw unexpected(operation, response, 'the body is not in the envelope of the service');
}

function errorOf(operation: OperationId, response: Response, text: string): TibaError {
  const { error_code: code, message } = objectIn(text) ?? {};
  if (code === undefined) return unexpected(operation, response, 'a proxy may have answered, or baseUrl is wrong');
  if (!isKnownCode(code)) {
    return unexpected(
      operation,
      response,
      `error_code ${textOf(code)} is new: update @tiba/client (${textOf(message)})`,
    );
  }
  const later = code === 'RATE_LIMIT_EXCEEDED' || code === 'SERVICE_UNAVAILABLE';
  return new TibaError({
    error_code: code,
    message: textOf(message),
    operation,
    status: response.status,
    retryAfterMs: retryAfterMs(response.headers) ?? (later ? 1_000 : null),
    requestId: response.headers.get('x-request-id'),
  });
}

const unexpected = (operation: OperationId, { status, headers }: Response, reason: string): TibaError =>
  new TibaError({
    error_code: 'UNEXPECTED_ANSWER',
    operation,
    status,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(headers),
    message: `HTTP ${status}: ${reason}`,
  });

const textOf = (value: unknown): string => (typeof value === 'string' ? value : 'without a text');

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value = parseExact(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

export function detailsOf({ status, headers }: Response, message: string): AnswerDetails {
  const [, version] = /^(?:W\/)?"(\d+)/.exec(headers.get('etag') ?? '') ?? [];
  return {
    status,
    headers,
    requestId: headers.get('x-request-id'),
    message,
    version: version === undefined ? null : Number(version),
  };
}
