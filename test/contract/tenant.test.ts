import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';

/** docs/contract.md 7.1: another client's transaction is TRANSACTION_NOT_FOUND, byte for byte. */

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

const ask = (token: string, target: string): Promise<Answer> =>
  exchangeOne(
    service.url,
    rawRequest('GET', `/api/v1/check-status${target}`, { headers: { authorization: `Bearer ${token}` } }),
  );

/** What may differ between two answers to anything: the clock, the request, what is left of the allowance. */
const OWN_HEADERS = new Set(['date', 'x-request-id', 'ratelimit']);

const comparable = ({ status, headers, text }: Answer): unknown => ({
  status,
  headers: [...headers].filter(([name]) => !OWN_HEADERS.has(name)),
  text,
});

test("another client's transaction and one that does not exist: the same bytes, by either ID and form", async () => {
  const { token } = service.beta;
  for (const [existing, missing] of [
    ['/TB0000000002', '/TB9999999999'],
    ['/OF-ALPHA', '/OF-NOBODY'],
    ['?reference_id=OF-ALPHA', '?reference_id=OF-NOBODY'],
  ] as const) {
    assertSuccess(await ask(service.alpha.token, existing));
    const [refused, unknown] = [await ask(token, existing), await ask(token, missing)];
    assertError(refused, 'TRANSACTION_NOT_FOUND');
    assert.deepEqual(comparable(refused), comparable(unknown));
  }
});

test('two clients may use the same reference ID: each gets its own transaction', async () => {
  for (const target of ['/OF-BOTH', '?reference_id=OF-BOTH']) {
    assert.equal(assertSuccess(await ask(service.alpha.token, target))['transaction_id'], 'TB0000000002');
    assert.equal(assertSuccess(await ask(service.beta.token, target))['transaction_id'], 'TB0000000003');
  }
});

test("a reference ID that is another client's transaction ID finds one's own transaction", async () => {
  assert.equal(assertSuccess(await ask(service.beta.token, '/TB0000000001'))['transaction_id'], 'TB0000000004');
  assert.equal(assertSuccess(await ask(service.alpha.token, '/TB0000000001'))['reference_id'], 'OF-ALPHA');
});

test('look-ups of many clients at once never answer one with what another asked for', async () => {
  const asked = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? service.alpha : service.beta));
  const answers = await Promise.all(
    asked.map(({ token, clientId }) =>
      service.get('/api/v1/check-status?reference_id=OF-BOTH', { token }).then((answer) => ({ clientId, answer })),
    ),
  );
  for (const { clientId, answer } of answers) {
    assert.equal(assertSuccess(answer)['description'], `of ${clientId}`);
  }
});
