import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Agent, type Dispatcher, interceptors, request } from 'undici';
import { checkStatusBatch } from '../contract/batch-requests.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { type CreatedTransaction, createTransaction, feedChange } from './transactions.ts';

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

/** docs/contract.md 4.1 and docs/decisions/0034. */
suite('a client that accepts an older answer', () => {
  const WEEK = { 'cache-control': 'max-age=604800' };
  const cachingOf = ({ headers }: Answer) => [headers.get('cache-control'), headers.get('vary')];
  const NOT_CACHED = ['no-store', 'Accept-Language'];

  async function createFinal(): Promise<CreatedTransaction> {
    const transaction = await createTransaction(service);
    await feedChange(service, transaction, { status: 'SUCCESS' });
    return transaction;
  }

  test('may cache a final status for as long as it accepts, and no longer than its token is valid', async () => {
    const { path, referencePath } = await createFinal();
    for (const target of [path, referencePath]) {
      const answer = await service.get(target, { headers: { 'cache-control': 'max-age=60' } });
      assert.deepEqual(cachingOf(answer), [
        'private, max-age=60, must-revalidate',
        'Accept, Accept-Language, Authorization, Cache-Control',
      ]);
      assert.equal(answer.headers.get('etag'), '"2"');
      const head = await service.get(target, { method: 'HEAD', headers: { 'cache-control': 'max-age=60' } });
      assert.deepEqual(cachingOf(head), cachingOf(answer));
    }
    for (const headers of [WEEK, { ...WEEK, prefer: 'wait=5' }, { ...WEEK, 'if-none-match': '"2"' }]) {
      const [cacheControl = ''] = cachingOf(await service.get(path, { headers }));
      const seconds = Number(/^private, max-age=(\d+), must-revalidate$/.exec(cacheControl ?? '')?.[1]);
      assert.ok(seconds > 0 && seconds <= 900, `${cacheControl}: the token is valid for 15 minutes`);
    }
  });

  test('may not cache it without max-age, or with a directive that demands a fresh answer', async () => {
    const { path } = await createFinal();
    assert.deepEqual(cachingOf(await service.get(path)), NOT_CACHED);
    for (const cacheControl of ['', 'max-age=0', 'no-cache', 'max-age=60, no-store', 'max-stale=60', 'max-age=x']) {
      const answer = await service.get(path, { headers: { 'cache-control': cacheControl } });
      assert.deepEqual(cachingOf(answer), NOT_CACHED, cacheControl);
    }
  });

  test('may not cache PROCESS, errors, batches, lists and streams', async () => {
    const { path } = await createTransaction(service);
    const final = await createFinal();
    for (const answer of [
      await service.get(path, { headers: WEEK }),
      await service.get(path, { headers: { ...WEEK, prefer: 'wait=0' } }),
      await service.get('/api/v1/check-status/NONE', { headers: WEEK }),
      await service.get('/api/v1/check-status/%00', { headers: WEEK }),
      await service.get(final.path, { token: service.beta.token, headers: WEEK }),
      await service.get(final.path, { token: 'bad', headers: WEEK }),
      await service.get('/api/v1/transactions', { headers: WEEK }),
      await checkStatusBatch(service, { ids: [final.transactionId] }, { headers: WEEK }),
      await service.get(final.path, { headers: { ...WEEK, accept: 'text/event-stream' } }),
    ]) {
      assert.deepEqual(cachingOf(answer), NOT_CACHED, `${answer.status} ${answer.text}`);
    }
  });

  test('a reversal after the end changes the version of a final transaction and nothing else', async () => {
    const transaction = await createFinal();
    const before = await service.get(transaction.path);
    await feedChange(service, transaction, { status: 'SUCCESS', reversed_at: '2026-11-25T01:00:00Z' });
    const after = await service.get(transaction.path);
    assert.deepEqual([before.headers.get('etag'), after.headers.get('etag')], ['"2"', '"3"']);
    assert.deepEqual(after.json.data, before.json.data);
  });

  test('is spared requests by the cache of undici, which asks again for another token, language or wish', async (t) => {
    const agent = new Agent();
    t.after(() => agent.close());
    let sent = 0;
    const counting: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
      sent += 1;
      return dispatch(options, handler);
    };
    const cached = agent.compose(counting, interceptors.cache({ type: 'private' }));
    const final = await createFinal();
    const inProcess = await createTransaction(service);
    /** Whether the request reached the service. */
    async function reachesService(path: string, token: string, more: Record<string, string> = WEEK): Promise<boolean> {
      const before = sent;
      const headers = { authorization: `Bearer ${token}`, accept: 'application/json', ...more };
      const { body } = await request(service.url + path, { dispatcher: cached, headers });
      await body.dump();
      return sent > before;
    }
    const { alpha, beta } = service;
    assert.equal(await reachesService(final.path, alpha.token), true);
    assert.equal(await reachesService(final.path, alpha.token), false);
    assert.equal(await reachesService(final.path, beta.token), true, 'another client');
    assert.equal(await reachesService(final.path, alpha.token, { ...WEEK, 'accept-language': 'id' }), true);
    assert.equal(await reachesService(final.path, alpha.token, {}), true, 'without the header');
    assert.equal(await reachesService(inProcess.path, alpha.token), true);
    assert.equal(await reachesService(inProcess.path, alpha.token), true);
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
