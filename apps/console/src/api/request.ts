import { DECIMAL_FIELDS, OPERATIONS, type Operations, type Proposal } from '../generated/api.ts';
import { csrfToken, endSession } from './session.ts';

/** Calls of the operator API. The browser sends the session's cookie; a change needs the CSRF token as well. */

/** What an operation takes: `path`, `query` and `body`, where it has them. */
export type Input<Name extends keyof Operations> = {
  [Key in 'path' | 'query' | 'body' as Operations[Name][Key] extends null ? never : Key]: Operations[Name][Key];
};

/** An answer that is not a success, or none at all. */
export class CallFailure extends Error {
  /** 0: there was no answer. */
  readonly status: number;
  readonly code: string | null;
  /** By which the log of the service names the request. */
  readonly requestId: string | null;
  /** When to try again; null where the service does not say. */
  readonly retryAfterSeconds: number | null;

  constructor(message: string, { status = 0, code = null, requestId = null, retryAfterSeconds = null }: FailureFacts) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

interface FailureFacts {
  readonly status?: number;
  readonly code?: string | null;
  readonly requestId?: string | null;
  readonly retryAfterSeconds?: number | null;
}

/** An amount behind the name of a decimal field: it becomes a text before a number could round it. */
const AMOUNT = new RegExp(`"(${DECIMAL_FIELDS.join('|')})":\\s*(-?\\d+(?:\\.\\d+)?)`, 'g');

const parseExact = (json: string): unknown => JSON.parse(json.replace(AMOUNT, '"$1":"$2"'));

/** @throws CallFailure; an AbortError when `signal` ends the call */
export async function call<Name extends keyof Operations>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<Operations[Name]['data']> {
  return (await request(name, input, signal === undefined ? {} : { signal })).envelope.data as Operations[Name]['data'];
}

/** What was done, or the proposal that waits for a second person. */
export type Answered<Done> = { readonly done: Done } | { readonly proposal: Proposal };

/**
 * A change that may need the approval of a second person: what was done, or the proposal that waits for it.
 * @throws CallFailure
 */
export async function propose<Name extends keyof Operations>(
  name: Name,
  input: Input<Name>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered<Operations[Name]['data']>> {
  const { status, envelope } = await request(name, input, { headers });
  if (status === HTTP_ACCEPTED) return { proposal: envelope.data as Proposal };
  return { done: envelope.data as Operations[Name]['data'] };
}

const HTTP_ACCEPTED = 202;

interface SendOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

function request<Name extends keyof Operations>(name: Name, input: Input<Name>, options: SendOptions): Promise<Answer> {
  const [method, pattern] = OPERATIONS[name];
  const {
    path = {},
    query = {},
    body,
  } = input as {
    readonly path?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, unknown>>;
    readonly body?: unknown;
  };
  const url = pattern.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(path[key] ?? ''));
  return send(method, url + queryText(query), body, options);
}

type Given<Query> = { readonly [Key in keyof Query]: Exclude<Query[Key], null> | undefined };

/** Parameters of an operation, of which null stands for one that is left out. */
export const given = <Query extends object>(query: Query): Given<Query> =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== null)) as Given<Query>;

export function queryText(query: Readonly<Record<string, unknown>>): string {
  const present = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(present.map(([key, value]) => [key, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

interface Envelope {
  readonly message?: string;
  readonly error_code?: string;
  readonly data?: unknown;
}

interface Answer {
  readonly status: number;
  readonly envelope: Envelope;
}

async function send(
  method: string,
  url: string,
  body: unknown,
  { signal, headers = {} }: SendOptions,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'GET' ? {} : { 'x-csrf-token': csrfToken() }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new CallFailure('no answer', {});
  });
  const envelope = await response.text().then(readEnvelope);
  if (response.ok && envelope !== null) return { status: response.status, envelope };
  if (response.status === 401) endSession();
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  throw new CallFailure(envelope?.message ?? `HTTP ${response.status}`, {
    status: response.status,
    code: envelope?.error_code ?? null,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
  });
}

/** Null for what is no JSON: a page of a proxy. */
function readEnvelope(text: string): Envelope | null {
  try {
    return parseExact(text) as Envelope;
  } catch {
    return null;
  }
}
