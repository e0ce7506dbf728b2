import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import pg from 'pg';
import { assertSuccess } from '../contract/assertions.ts';
import {
  type Answer,
  CLIENT_SCOPES,
  send,
  statusUpdate,
  type TestClient,
  type TestService,
} from '../support/service.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface CallOptions {
  /** The token of alpha by default. */
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  /** A string is sent unchanged, anything else as JSON. */
  readonly body?: unknown;
}

/** A request to the public listener. */
export function call(
  service: TestService,
  method: string,
  path: string,
  { token = service.alpha.token, headers = {}, body }: CallOptions = {},
): Promise<Answer> {
  return send(service.url + path, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

/** The data of a success, 200 or 201. */
export function dataOf(answer: Answer): Fields {
  return assertSuccess(answer.status === 201 ? { ...answer, status: 200 } : answer);
}

export const ENDPOINTS = '/api/v1/callback-endpoints';
export const DELIVERIES = '/api/v1/callback-deliveries';
export const EVENTS = '/api/v1/events';

/** Registers an endpoint, by default at a closed port. Returns its ID and secret. */
export async function register(
  service: TestService,
  fields: Fields = {},
  token?: string,
): Promise<{ endpointId: string; secret: string }> {
  const body = { url: 'http://127.0.0.1:9/callbacks', ...fields };
  const answer = await call(service, 'POST', ENDPOINTS, { body, ...(token === undefined ? {} : { token }) });
  assert.equal(answer.status, 201, answer.text);
  const { endpoint_id: endpointId, secret } = dataOf(answer);
  return { endpointId: String(endpointId), secret: String(secret) };
}

/** Runs SQL of the test, for states that only time or a failing receiver would cause. */
export async function openSql(
  service: TestService,
): Promise<{ (sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>; end(): Promise<void> }> {
  const client = new pg.Client(service.database.connection);
  await client.connect();
  const run = async (sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await client.query<Record<string, unknown>>(sql, values)).rows;
  return Object.assign(run, { end: () => client.end() });
}

let clients = 0;

/** Adds a client for one test: it has its own endpoints, and its events start at 1. */
export const addOwnClient = (service: TestService): Promise<TestClient> =>
  service.addClient(`own-${(clients += 1)}`, CLIENT_SCOPES);

let transactions = 0;

/** Feeds `count` successful transactions, each of which is an event. Returns their IDs. */
export async function feedSuccesses(service: TestService, count: number, changes: Fields = {}): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `TC${String((transactions += 1)).padStart(10, '0')}`);
  const lines = ids.map((id) => statusUpdate({ transaction_id: id, reference_id: id, status: 'SUCCESS', ...changes }));
  const answer = await service.feed(lines.map((line) => JSON.stringify(line)).join('\n'));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.data?.['inserted'], count, answer.text);
  return ids;
}

/** FC_SEED repeats a run. */
export const chooseSeed = (): number => Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
