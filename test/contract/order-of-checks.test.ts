import { after, before, suite, test } from 'node:test';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { assertError, type ErrorCode } from './assertions.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';

/**
 * docs/contract.md 7.2: a request with two faults is answered for the one that is checked first. Every pair is tested.
 */

let service: TestService;
let exhausted: TestClient;
/** Its limit is lower than the 10 requests that a batch of 100 counts as. */
let belowBatch: TestClient;
let withoutScope: TestClient;
let exhaustedWithoutScope: TestClient;

before(async () => {
  service = await startTestService();
  const noRequests = { 'check-status': 0, 'check-account': 0 };
  exhausted = await service.addClient('exhausted', ['status:read', 'account:check'], noRequests);
  belowBatch = await service.addClient('below-batch', ['status:read'], { 'check-status': 9 });
  withoutScope = await service.addClient('without-scope', ['feed:write']);
  exhaustedWithoutScope = await service.addClient('exhausted-without-scope', ['feed:write'], noRequests);
});
after(() => service?.close());

interface Check {
  readonly name: string;
  readonly code: ErrorCode;
}

const COMMON_CHECKS: readonly Check[] = [
  { name: 'route', code: 'NOT_FOUND' },
  { name: 'method', code: 'METHOD_NOT_ALLOWED' },
  { name: 'authentication', code: 'UNAUTHORIZED' },
  { name: 'scope', code: 'FORBIDDEN' },
  { name: 'limit', code: 'RATE_LIMIT_EXCEEDED' },
  { name: 'Accept', code: 'NOT_ACCEPTABLE' },
];

const STATUS_CHECKS: readonly Check[] = [
  ...COMMON_CHECKS,
  { name: 'identifier', code: 'INVALID_TRANSACTION_ID' },
  { name: 'look-up', code: 'TRANSACTION_NOT_FOUND' },
];

const ACCOUNT_CHECKS: readonly Check[] = [
  ...COMMON_CHECKS,
  { name: 'content type', code: 'UNSUPPORTED_MEDIA_TYPE' },
  { name: 'size', code: 'PAYLOAD_TOO_LARGE' },
  { name: 'body', code: 'INVALID_FORMAT' },
  { name: 'bank_code', code: 'INVALID_BANK_CODE' },
  { name: 'account_number', code: 'INVALID_FORMAT' },
  { name: 'expected_account_name', code: 'INVALID_FORMAT' },
  { name: 'bank', code: 'SERVICE_UNAVAILABLE' },
];

const BATCH_CHECKS: readonly Check[] = [
  ...COMMON_CHECKS,
  { name: 'content type', code: 'UNSUPPORTED_MEDIA_TYPE' },
  { name: 'size', code: 'PAYLOAD_TOO_LARGE' },
  { name: 'body', code: 'INVALID_FORMAT' },
  { name: 'ids', code: 'INVALID_FORMAT' },
  { name: 'limit of the batch', code: 'RATE_LIMIT_EXCEEDED' },
];

/** No client has a limit of its own for lists, so that these clients cannot exceed it. */
const LIST_CHECKS: readonly Check[] = [
  ...COMMON_CHECKS.filter(({ name }) => name !== 'limit'),
  { name: 'parameter', code: 'INVALID_REQUEST' },
];

type Faults = ReadonlySet<string>;

function commonHeaders(faults: Faults): Record<string, string> {
  const scoped = faults.has('limit') ? exhausted : service.alpha;
  const scopeless = faults.has('limit') ? exhaustedWithoutScope : withoutScope;
  const { token } = faults.has('scope') ? scopeless : scoped;
  return {
    ...(faults.has('authentication') ? {} : { authorization: `Bearer ${token}` }),
    accept: faults.has('Accept') ? 'text/html' : 'application/json',
  };
}

function statusRequest(faults: Faults): Buffer {
  const route = faults.has('route') ? '/api/v1/check-stat/' : '/api/v1/check-status/';
  const method = faults.has('method') ? 'DELETE' : 'GET';
  return rawRequest(method, route + (faults.has('identifier') ? '%ZZ' : 'NONE'), { headers: commonHeaders(faults) });
}

function accountRequest(faults: Faults): Buffer {
  const route = faults.has('route') ? '/api/v1/check-acc' : '/api/v1/check-account';
  const method = faults.has('method') ? 'PUT' : 'POST';
  const account = (faults.has('account_number') ? 'A' : '1') + (faults.has('bank') ? '234560503' : '234567890');
  const json = JSON.stringify({
    ...(faults.has('size') ? { filler: 'x'.repeat(16_384) } : {}),
    bank_code: faults.has('bank_code') ? 'NOPE' : '014',
    account_number: account,
    ...(faults.has('expected_account_name') ? { expected_account_name: 1 } : {}),
  });
  const type = faults.has('content type') ? 'text/plain' : 'application/json';
  const headers = { ...commonHeaders(faults), 'content-type': type };
  return rawRequest(method, route, { headers, body: faults.has('body') ? json.slice(0, -1) : json });
}

function listRequest(faults: Faults): Buffer {
  const route = faults.has('route') ? '/api/v1/transaction' : '/api/v1/transactions';
  const parameter = faults.has('parameter') ? '?limit=0' : '';
  return rawRequest(faults.has('method') ? 'PUT' : 'GET', route + parameter, { headers: commonHeaders(faults) });
}

function batchRequest(faults: Faults): Buffer {
  const route = faults.has('route') ? '/api/v1/check-stat/batch' : '/api/v1/check-status/batch';
  const common = commonHeaders(faults);
  const overLimit = faults.has('limit of the batch') && common['authorization'] === `Bearer ${service.alpha.token}`;
  const json = JSON.stringify({
    ...(faults.has('size') ? { filler: 'x'.repeat(163_840) } : {}),
    ids: [...Array<string>(99).fill('NONE'), faults.has('ids') ? 1 : 'NONE'],
  });
  const headers = {
    ...common,
    ...(overLimit ? { authorization: `Bearer ${belowBatch.token}` } : {}),
    'content-type': faults.has('content type') ? 'text/plain' : 'application/json',
  };
  return rawRequest(faults.has('method') ? 'PUT' : 'POST', route, {
    headers,
    body: faults.has('body') ? json.slice(0, -1) : json,
  });
}

function testEveryPair(checks: readonly Check[], request: (faults: Faults) => Buffer): void {
  for (const [index, { name, code }] of checks.entries()) {
    const later = checks.slice(index + 1).map((check) => check.name);
    test(`${name} is checked before ${later.join(', ') || 'no other check'}`, async () => {
      for (const other of [name, ...later]) {
        assertError(await exchangeOne(service.url, request(new Set([name, other]))), code);
      }
    });
  }
}

suite('order of checks, check-status', () => testEveryPair(STATUS_CHECKS, statusRequest));
suite('order of checks, batch of check-status', () => testEveryPair(BATCH_CHECKS, batchRequest));
suite('order of checks, list of transactions', () => testEveryPair(LIST_CHECKS, listRequest));
suite('order of checks, check-account', () => testEveryPair(ACCOUNT_CHECKS, accountRequest));

test('an unknown route is NOT_FOUND before the body is read', async () => {
  for (const body of ['{', 'x'.repeat(20_000)]) {
    const headers = { 'content-type': 'application/json' };
    assertError(await exchangeOne(service.url, rawRequest('POST', '/nowhere', { headers, body })), 'NOT_FOUND');
  }
});
