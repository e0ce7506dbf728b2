import openapi from '../../../openapi.json' with { type: 'json' };
import type { Tokens } from '../clients.ts';
import type { Draws } from '../draws.ts';
import type { RandomValues, Schema } from './values.ts';

/** A well-formed HTTP request with random values. */
export interface FuzzRequest {
  readonly listener: 'public' | 'operator';
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

interface Parameter {
  readonly in: string;
  readonly name: string;
}

interface Operation {
  readonly listener: 'public' | 'operator';
  readonly method: string;
  /** With the names of its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** null for an operation without a body. */
  readonly schema: Schema | null;
}

type Described = Readonly<
  Record<
    string,
    {
      readonly parameters?: readonly Parameter[];
      readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
    }
  >
>;

const published = Object.entries(openapi.paths as unknown as Record<string, Described>).flatMap(([path, methods]) =>
  Object.entries(methods).map(
    ([method, { parameters = [], requestBody }]): Operation => ({
      listener: 'public',
      method: method.toUpperCase(),
      path,
      parameters,
      schema: requestBody?.content['application/json']?.schema ?? null,
    }),
  ),
);

const get = (listener: Operation['listener'], path: string, ...query: string[]): Operation => ({
  listener,
  method: 'GET',
  path,
  parameters: query.map((name) => ({ in: 'query', name })),
  schema: null,
});
const fields = (names: string): Schema => ({
  properties: Object.fromEntries(names.split(' ').map((name) => [name, { type: 'string' }])),
});
const STATUS_UPDATE = fields(
  'client_id transaction_id reference_id status amount fee bank_code account_number account_name description ' +
    'created_at processed_at failure_reason reversed_at',
);

/** What openapi.json does not describe: the operator listener, the login, and the documents. */
const others: readonly Operation[] = [
  { listener: 'operator', method: 'POST', path: '/feed/v1/transactions', parameters: [], schema: STATUS_UPDATE },
  {
    listener: 'operator',
    method: 'POST',
    path: '/feed/v1/transactions',
    parameters: [],
    schema: { items: STATUS_UPDATE },
  },
  {
    listener: 'operator',
    method: 'POST',
    path: '/operator/v1/account-checks/search',
    parameters: [],
    schema: fields('client_id bank_code account_number from to limit'),
  },
  ...['overdue', 'reviews', 'callback-endpoints', 'account-validations', 'enumeration', 'rails'].map((name) =>
    get('operator', `/operator/v1/${name}`, 'limit'),
  ),
  get('operator', '/livez'),
  get('operator', '/readyz'),
  { ...get('public', '/oauth/token'), method: 'POST', schema: fields('grant_type client_id client_secret') },
  get('public', '/.well-known/oauth-authorization-server'),
  get('public', '/{anything}', 'x'),
  get('operator', '/{anything}', 'x'),
];

/** These start processes or send requests of their own: they come once where the others come ten times. */
const EXPENSIVE = /account-validations$|\/test$|check-account$|^\/reference/;
const OPERATIONS = [...published, ...others].flatMap((operation) =>
  Array.from({ length: operation.method === 'POST' && EXPENSIVE.test(operation.path) ? 1 : 10 }, () => operation),
);

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
const CONTENT_TYPES = ['text/csv', 'application/x-ndjson', 'application/x-www-form-urlencoded', 'text/plain', ';='];

/** Draws a request to any operation. */
export function drawRequest(draws: Draws, values: RandomValues, tokens: Tokens): FuzzRequest {
  const operation = draws.pick(OPERATIONS);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values.inUrl(name));
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && draws.chance(0.6))
    .map(({ name }) => `${name}=${values.inUrl(name)}`);
  const method = draws.chance(0.03) ? draws.pick(METHODS) : operation.method;
  const hasBody = operation.schema !== null ? draws.chance(0.97) : draws.chance(0.02) && method !== 'HEAD';
  return {
    listener: operation.listener,
    method,
    target: path + (query.length > 0 ? `?${query.join('&')}` : ''),
    headers: drawHeaders(draws, values, tokens, hasBody),
    body: hasBody ? drawBody(draws, values, operation.schema ?? {}) : null,
  };
}

function drawHeaders(draws: Draws, values: RandomValues, { fuzz: token }: Tokens, hasBody: boolean) {
  const headers: Record<string, string> = {};
  const maybe = (probability: number, name: string, value: () => string): void => {
    if (draws.chance(probability)) headers[name] = value();
  };
  const damaged = (): string => draws.pick([token.slice(0, draws.below(token.length)), `${token}x`, values.header()]);
  maybe(0.95, 'authorization', () => `Bearer ${draws.chance(0.95) ? token : damaged()}`);
  maybe(0.1, 'accept', () => draws.pick(['*/*', 'text/html', 'application/json;q=0', 'text/csv', values.header()]));
  if (hasBody) headers['content-type'] = draws.chance(0.95) ? 'application/json' : draws.pick(CONTENT_TYPES);
  maybe(0.02, 'content-encoding', () => draws.pick(['gzip', 'x', 'identity']));
  maybe(0.05, 'prefer', () => draws.pick(['wait=0', 'wait=-1', 'wait=x', 'respond-async']));
  maybe(0.05, 'if-none-match', () => draws.pick(['"1"', '*', values.header()]));
  maybe(0.05, 'idempotency-key', () => values.header());
  maybe(0.02, 'last-event-id', () => values.header());
  maybe(0.05, 'x-forwarded-for', () => values.header());
  maybe(0.05, 'x-request-id', () => values.header());
  maybe(0.02, 'cache-control', () => draws.pick(['max-age=0', 'max-age=x', 'no-cache']));
  return headers;
}

function drawBody(draws: Draws, values: RandomValues, schema: Schema): string {
  const body = JSON.stringify(values.forSchema('', schema)) ?? '';
  if (draws.chance(0.95)) return body;
  return draws.pick([body.slice(0, draws.below(body.length + 1)), `${body}${body}`, values.text(), '['.repeat(9_000)]);
}
