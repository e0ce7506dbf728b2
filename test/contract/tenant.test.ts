import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';

/** docs/contract.md 7.1: another client's transaction is answered byte for byte like one that does not exist. */

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.feed([
    statusUpdate({ transaction_id: 'TB0000000001', reference_id: 'OF-ALPHA' }),
    statusUpdate({ transaction_id: 'TB0000000002', reference_id: 'OF-BOTH', description: 'of alpha' }),
    statusUpdate({
      transaction_id: 'TB0000000003',
      reference_id: 'OF-BOTH',
      description: 'of beta',
      client_id: 'beta',
    }),
    statusUpdate({ transaction_id: 'TB0000000004', reference_id: 'TB0000000001', client_id: 'beta' }),
  ]);
});
after(() => service?.close());

const checkStatus = (token: string, target: string): Promise<Answer> =>
  exchangeOne(
    service.url,
    rawRequest('GET', `/api/v1/check-status${target}`, { headers: { authorization: `Bearer ${token}` } }),
  );

/** Headers that may differ between any two answers: the time, the request ID, the requests left. */
const OWN_HEADERS = new Set(['date', 'x-request-id', 'ratelimit']);

const comparable = ({ status, headers, text }: Answer): unknown => ({
  status,
  headers: [...headers].filter(([name]) => !OWN_HEADERS.has(name)),
  text,
});

test("another client's transaction gives the same bytes as a missing one, by either ID and form", async () => {
  const { token } = service.beta;
  for (const [existing, missing] of [
    ['/TB0000000002', '/TB9999999999'],
    ['/OF-ALPHA', '/OF-NONE'],
    ['?reference_id=OF-ALPHA', '?reference_id=OF-NONE'],
  ] as const) {
    assertSuccess(await checkStatus(service.alpha.token, existing));
    const [foreign, unknown] = [await checkStatus(token, existing), await checkStatus(token, missing)];
    assertError(foreign, 'TRANSACTION_NOT_FOUND');
    assert.deepEqual(comparable(foreign), comparable(unknown));
  }
});

test('two clients may use the same reference ID: each finds its own transaction', async () => {
  for (const target of ['/OF-BOTH', '?reference_id=OF-BOTH']) {
    assert.equal(assertSuccess(await checkStatus(service.alpha.token, target))['transaction_id'], 'TB0000000002');
    assert.equal(assertSuccess(await checkStatus(service.beta.token, target))['transaction_id'], 'TB0000000003');
  }
});

test("a reference ID that equals another client's transaction ID finds the caller's own transaction", async () => {
  assert.equal(assertSuccess(await checkStatus(service.beta.token, '/TB0000000001'))['transaction_id'], 'TB0000000004');
  assert.equal(assertSuccess(await checkStatus(service.alpha.token, '/TB0000000001'))['reference_id'], 'OF-ALPHA');
});

test("concurrent look-ups of many clients never return one client's transaction to another", async () => {
  const callers = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? service.alpha : service.beta));
  const answers = await Promise.all(
    callers.map(({ token, clientId }) =>
      service.get('/api/v1/check-status?reference_id=OF-BOTH', { token }).then((answer) => ({ clientId, answer })),
    ),
  );
  for (const { clientId, answer } of answers) {
    assert.equal(assertSuccess(answer)['description'], `of ${clientId}`);
  }
});
