import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { createTransaction, feedChange } from './transactions.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

suite('the ETag of a transaction', () => {
  test('is its version: it grows by one with each event and is the same for both forms', async () => {
    const transaction = await createTransaction(service);
    const tags: (string | null)[] = [];
    const look = async () => {
      for (const path of [transaction.path, transaction.referencePath])
        tags.push((await service.get(path)).headers.get('etag'));
    };
    await look();
    await feedChange(service, transaction, { status: 'SUCCESS' });
    await look();
    await feedChange(service, transaction, { status: 'SUCCESS', reversed_at: '2026-11-25T01:00:00Z' });
    await look();
    assert.deepEqual(tags, ['"1"', '"1"', '"2"', '"2"', '"3"', '"3"']);
    assert.equal((await service.get(transaction.path)).json.data?.['status'], 'SUCCESS');
  });

  const matching = ['"1"', 'W/"1"', '*', '"7", "1"', ' "1" '];
  for (const value of matching) {
    test(`answers 304 without a body to If-None-Match: ${value}`, async () => {
      const transaction = await createTransaction(service);
      for (const path of [transaction.path, transaction.referencePath]) {
        const answer = await service.get(path, { headers: { 'if-none-match': value } });
        assert.equal(answer.status, 304);
        assert.equal(answer.text, '');
        assert.equal(answer.headers.get('etag'), '"1"');
        assert.equal(answer.headers.get('cache-control'), 'no-store');
        assert.ok(answer.headers.get('x-request-id'));
        assert.ok(answer.headers.get('ratelimit'));
      }
    });
  }

  for (const value of ['"2"', '1', '"11"', 'W/"2"', '']) {
    test(`answers in full to If-None-Match: ${value === '' ? '(empty)' : value}`, async () => {
      const transaction = await createTransaction(service);
      const answer = await service.get(transaction.path, { headers: { 'if-none-match': value } });
      assert.equal(answer.status, 200);
      assert.equal(answer.json.data?.['transaction_id'], transaction.transactionId);
    });
  }

  test("does not reveal that another client's transaction exists", async () => {
    const transaction = await createTransaction(service);
    const answer = await service.get(transaction.path, {
      token: service.beta.token,
      headers: { 'if-none-match': '*' },
    });
    assert.equal(answer.status, 404);
    assert.equal(answer.headers.get('etag'), null);
  });
});

suite('Retry-After of an answer', () => {
  test('is present while the transaction is in PROCESS, and absent when it is final', async () => {
    const transaction = await createTransaction(service, { bank_code: '008' });
    assert.equal((await service.get(transaction.path)).headers.get('retry-after'), '10');
    await feedChange(service, transaction, { status: 'FAILED', failure_reason: 'OTHER' });
    assert.equal((await service.get(transaction.path)).headers.get('retry-after'), null);
  });

  test("is derived from the bank's own recent processing times", async () => {
    const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
    for (let index = 0; index < 10; index += 1) {
      const transaction = await createTransaction(service, { bank_code: '009', created_at: '2026-11-21T04:00:00Z' });
      await feedChange(service, transaction, { status: 'SUCCESS', processed_at: '2026-11-21T04:01:00Z' });
    }
    const fresh = await createTransaction(service, { bank_code: '009', created_at: at(-1_000) });
    const seconds = Number((await service.get(fresh.path)).headers.get('retry-after'));
    assert.ok(seconds >= 50 && seconds <= 59, `a bank that takes a minute, one second after the start: ${seconds}`);
    const old = await createTransaction(service, { bank_code: '009', created_at: at(-600_000) });
    assert.equal((await service.get(old.path)).headers.get('retry-after'), '300');
  });
});
