import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { verifyCallback } from '../../packages/client/src/callbacks.ts';
import { OPERATIONS } from '../../packages/client/src/generated/api.ts';
import { type Event, type TibaClient, TibaError, toMinor } from '../../packages/client/src/index.ts';
import { limitOf } from '../../packages/client/src/pacer.ts';
import { createTransaction, feedChange } from '../long-poll/transactions.ts';
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { clientOf, countFetch } from './test-client.ts';

/** Every public operation, by the client and against the real service. */

let service: TestService;
let tiba: TibaClient;
const sent = countFetch();
before(async () => {
  service = await startTestService();
  tiba = clientOf(service, { fetch: sent.fetch });
});
after(() => service?.close());

const codeOf = (error: unknown): string => (error instanceof TibaError ? error.error_code : String(error));
const HUGE = { amount: '9007199254740993.01', fee: '0.00' };

async function take<T>(items: AsyncIterable<T>, count = Infinity): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length >= count) break;
  }
  return taken;
}

suite('status', () => {
  test('an amount that no binary number can hold arrives digit by digit, in every answer that has it', async () => {
    const { transactionId, referenceId } = await createTransaction(service, {
      ...HUGE,
      status: 'SUCCESS',
      // Regression: a text that looks like an amount is no amount.
      description: 'it says "amount":1.5 and \\"fee\\":2',
    });
    const { results } = await tiba.checkStatusBatch([transactionId, 'NONE']);
    const [found, missing] = results;
    assert.ok(found !== undefined && 'transaction' in found && missing !== undefined && 'error_code' in missing);
    const everywhere = [
      await tiba.checkStatus(transactionId),
      await tiba.checkStatusByReference(referenceId),
      found.transaction,
      ...(await take(tiba.transactions.list({ amount_from: HUGE.amount }))),
      ...(await take(tiba.transactions.export({ amount_from: HUGE.amount }))),
      ...(await take(tiba.events.list())).flatMap(({ data }) => ('amount' in data ? [data] : [])),
    ];
    assert.equal(everywhere.length, 6);
    for (const { amount, total_amount: total, description } of everywhere) {
      assert.equal(amount, '9007199254740993.01');
      assert.equal(toMinor(total), 900719925474099301n);
      assert.equal(description, 'it says "amount":1.5 and \\"fee\\":2');
    }
    assert.equal(missing.error_code, 'TRANSACTION_NOT_FOUND');
  });

  test('a final transaction is fetched once, and one in PROCESS each time', async () => {
    const done = await createTransaction(service, { status: 'SUCCESS' });
    const open = await createTransaction(service);
    const before = sent.requests.length;
    for (let times = 0; times < 3; times += 1) await tiba.checkStatus(done.referenceId);
    assert.equal(sent.requests.length - before, 1);
    await tiba.checkStatus(done.transactionId);
    await tiba.checkStatusByReference(done.referenceId);
    assert.equal(sent.requests.length - before, 1);
    for (let times = 0; times < 3; times += 1) await tiba.checkStatus(open.transactionId);
    assert.equal(sent.requests.length - before, 4);
  });

  test('.withResponse() gives status, request ID and version; a failure has a code and a request ID', async () => {
    const { transactionId } = await createTransaction(service);
    const { data, response } = await tiba.checkStatus(transactionId).withResponse();
    assert.deepEqual([data.transaction_id, response.status, response.version], [transactionId, 200, 1]);
    assert.match(response.requestId ?? '', /\w/);
    const error = await tiba.checkStatus('NONE').catch((reason: unknown) => reason);
    assert.ok(error instanceof TibaError);
    assert.deepEqual([error.error_code, error.status], ['TRANSACTION_NOT_FOUND', 404]);
    assert.match(error.requestId ?? '', /\w/);
    await assert.rejects(tiba.checkStatus('NONE').withResponse(), TibaError);
  });

  test('an ID with slashes, percent signs and other scripts names the same transaction', async () => {
    const reference = 'INV/2026%2F001?a=b#ć 漢';
    await service.feed(statusUpdate({ transaction_id: 'TQ0000000001', reference_id: reference }));
    assert.equal((await tiba.checkStatus(reference)).reference_id, reference);
    assert.equal((await tiba.checkStatusByReference(reference)).reference_id, reference);
  });

  test('pages are followed to the last one, and CSV has a header line', async () => {
    const created = await Promise.all(
      Array.from({ length: 5 }, () => createTransaction(service, { bank_code: '008' })),
    );
    const listed = await take(tiba.transactions.list({ bank_code: '008', limit: 2 }));
    const ids = (all: readonly { transactionId: string }[]) => all.map(({ transactionId }) => transactionId).sort();
    assert.deepEqual(listed.map((each) => each.transaction_id).sort(), ids(created));
    const csv = await take(tiba.transactions.exportCsv({ bank_code: '008' }));
    assert.equal(csv.length, 6);
    assert.match(csv[0] ?? '', /^transaction_id,/);
  });
});

suite('accounts', () => {
  test('a verdict is asked for each time, and taken from memory for as long as the caller says', async () => {
    const account = { bank_code: 'BCA', account_number: '1234567890' };
    const count = () => sent.requests.filter((request) => request.endsWith('/check-account')).length;
    const first = count();
    const verdict = await tiba.checkAccount(account);
    assert.deepEqual([verdict.status, verdict.is_valid], ['ACTIVE', true]);
    await tiba.checkAccount(account);
    assert.equal(count() - first, 2);
    await tiba.checkAccount(account, { maxAgeSeconds: 60 });
    await tiba.checkAccount(account, { maxAgeSeconds: 60 });
    assert.equal(count() - first, 3);
    await tiba.checkAccount(account);
    assert.equal(count() - first, 4);
  });

  test('banks, own checks, and an unknown bank', async () => {
    const { banks } = await tiba.banks.list();
    assert.ok(banks.length > 100);
    assert.equal((await tiba.banks.get('BCA')).bic, 'CENAIDJA');
    await eventually('both checks are listed', async () => {
      const listed = await take(tiba.accountChecks.list({ account_number: '1234567890', limit: 1 }), 2);
      return listed.length === 2 && listed.every(({ status }) => status === 'ACTIVE');
    });
    await assert.rejects(
      tiba.checkAccount({ bank_code: 'NOPE', account_number: '1234567890' }),
      (error) => codeOf(error) === 'INVALID_BANK_CODE',
    );
  });

  test('a bulk validation is created once for one key, and its results are read to the end, each once', async () => {
    const accounts = ['1234567890', '0000000001', '12'].map((number, index) => ({
      bank_code: 'BCA',
      account_number: number,
      reference: `row ${index}`,
    }));
    const options = { idempotencyKey: 'payroll-2026-11' };
    const [one, other] = await Promise.all([
      tiba.accountValidations.create({ accounts }, options),
      tiba.accountValidations.create({ accounts }, options),
    ]);
    assert.equal(one.validation_id, other.validation_id);
    const results = await take(tiba.accountValidations.results(one.validation_id, { follow: true }));
    assert.deepEqual(new Set(results.map(({ reference }) => reference)), new Set(['row 0', 'row 1', 'row 2']));
    assert.equal(results.length, 3);
    const csv = await tiba.accountValidations.create({ csv: 'bank_code,account_number\r\n014,1234567890\r\n' });
    assert.equal(csv.rows, 1);
    await tiba.accountValidations.cancel(csv.validation_id);
    assert.equal((await tiba.accountValidations.list()).validations.length, 2);
  });
});

suite('callbacks and events', () => {
  test('an endpoint is registered, gets callbacks that verify, and is changed', async (context) => {
    const receiver = await startHttpReceiver({ context });
    const url = `http://localhost:${receiver.port}/tiba`;
    const endpoint = await tiba.callbackEndpoints.register({ url, kinds: ['disbursement.succeeded'] });
    assert.ok((await tiba.callbackEndpoints.test(endpoint.endpoint_id)).succeeded);
    const transaction = await createTransaction(service, HUGE);
    await feedChange(service, transaction, { status: 'SUCCESS' });
    const [, received] = await receiver.untilReceived(2);
    assert.ok(received !== undefined);
    const headers = received.headers as Record<string, string>;
    const { callback, id } = await verifyCallback(headers, received.body, endpoint.secret);
    assert.equal(id, `evt_${transaction.transactionId}_2`);
    assert.equal('amount' in callback.data && callback.data.amount, HUGE.amount);

    const rotated = await tiba.callbackEndpoints.rotateSecret(endpoint.endpoint_id);
    assert.notEqual(rotated.secret, endpoint.secret);
    const [delivery] = await take(tiba.callbackDeliveries.list({ endpoint_id: endpoint.endpoint_id }));
    assert.ok(delivery !== undefined);
    // Until its attempt is recorded, a replay is the same delivery, which that attempt ends.
    await eventually('the attempt is recorded', async () => {
      const { attempts } = await tiba.callbackDeliveries.get(delivery.delivery_id);
      return attempts.length > 0;
    });
    await tiba.callbackDeliveries.replay(delivery.delivery_id);
    const [, , again] = await receiver.untilReceived(3);
    const bySecret = (secret: string) =>
      verifyCallback(again?.headers as Record<string, string>, again?.body ?? '', secret);
    assert.equal((await bySecret(endpoint.secret)).id, (await bySecret(rotated.secret)).id);

    assert.ok((await tiba.callbackDeliveries.get(delivery.delivery_id)).attempts.length >= 1);
    const range = { endpoint_id: endpoint.endpoint_id, from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' };
    assert.equal((await tiba.callbackDeliveries.replayRange(range)).replayed, 0);
    await tiba.callbackEndpoints.change(endpoint.endpoint_id, { disabled: true });
    assert.equal((await tiba.callbackEndpoints.get(endpoint.endpoint_id)).status, 'disabled');
    assert.equal((await tiba.callbackEndpoints.list()).endpoints.length, 1);
  });

  test('events are followed in order from a cursor, while they happen', async () => {
    const controller = new AbortController();
    const start = (await take(tiba.events.list())).at(-1) ?? null;
    const transaction = await createTransaction(service);
    const followed = tiba.events.follow(start, { signal: controller.signal, intervalMs: 10 });
    const first = followed.next();
    await feedChange(service, transaction, { status: 'FAILED', failure_reason: 'OTHER' });
    const seen = [(await first).value];
    // Transactions of other tests become overdue meanwhile.
    const isIts = ({ type, data }: Event): boolean =>
      type === 'disbursement.failed' && 'transaction_id' in data && data.transaction_id === transaction.transactionId;
    while (!seen.some(isIts)) seen.push((await followed.next()).value);
    const before = start?.sequence ?? 0;
    assert.deepEqual(
      seen.map(({ sequence }) => sequence),
      seen.map((_, index) => before + index + 1),
    );
    controller.abort(new Error('enough'));
    await assert.rejects(followed.next(), /enough/);
  });

  test('EVENTS_RESTORED instead of skipping, when the service no longer has the event of the cursor', async () => {
    const [last] = (await take(tiba.events.list())).slice(-1);
    assert.ok(last !== undefined);
    const lost = [
      { ...last, event_id: 'evt_TB2026112100000001_9' },
      { ...last, sequence: last.sequence + 1_000 },
    ];
    for (const cursor of lost) {
      await assert.rejects(tiba.events.follow(cursor).next(), (error) => codeOf(error) === 'EVENTS_RESTORED');
    }
  });
});

test('every operation of openapi.json was sent, and its limit has the name by which the client paces it', async () => {
  const paths = new Set(sent.requests);
  const missing = Object.entries(OPERATIONS).filter(([, [method, path]]) => {
    const pattern = new RegExp(`^${method} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return ![...paths].some((request) => pattern.test(request));
  });
  assert.deepEqual(missing, []);
  for (const path of new Set(Object.values(OPERATIONS).map(([, each]) => each))) {
    const { headers } = await service.get(path.replaceAll(/\{\w+\}/g, 'none'));
    const policy = headers.get('ratelimit-policy');
    if (policy !== null) assert.ok(policy.startsWith(`"${limitOf(path)}"`), `${path} ${policy}`);
  }
});
