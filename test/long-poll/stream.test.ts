import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { createTransaction, feedChange, until } from './transactions.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

interface StreamedEvent {
  readonly id: string;
  readonly data: Record<string, unknown>;
}

const open = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(service.url + path, {
    headers: { authorization: `Bearer ${service.alpha.token}`, accept: 'text/event-stream', ...headers },
  });

/** All events until the server ends the stream. */
async function events(response: Response): Promise<StreamedEvent[]> {
  const blocks = (await response.text()).split('\n\n').filter((block) => block.startsWith('id:'));
  return blocks.map((block) => {
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
    assert.equal(fields['event'], 'status');
    return { id: fields['id'] ?? '', data: JSON.parse(fields['data'] ?? '') as Record<string, unknown> };
  });
}

suite('Accept: text/event-stream', () => {
  test('streams the current state, then each change, and ends after the final status', async () => {
    const transaction = await createTransaction(service);
    for (const path of [transaction.path]) {
      const response = await open(path);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'text/event-stream');
      assert.equal(response.headers.get('cache-control'), 'no-store');
      await until(() => service.app.longPollCount() === 1, 'one streaming');
      await feedChange(service, transaction, { status: 'SUCCESS' });
      const seen = await events(response);
      assert.deepEqual(
        seen.map(({ id, data }) => [id, data['status'], data['transaction_id']]),
        [
          ['1', 'PROCESS', transaction.transactionId],
          ['2', 'SUCCESS', transaction.transactionId],
        ],
      );
      assert.equal(service.app.longPollCount(), 0);
    }
  });

  test('the data of an event equals the data of a status check, byte for byte', async () => {
    const transaction = await createTransaction(service, {
      status: 'SUCCESS',
      amount: '9007199254740993.01',
      fee: '0',
    });
    const text = await (await open(transaction.referencePath)).text();
    const answer = (await service.get(transaction.path)).text;
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? 'none';
    assert.ok(data.includes('"amount":9007199254740993.01'));
    assert.ok(answer.includes(`"data":${data},`));
  });

  test('continues after Last-Event-ID: earlier events are not sent again', async () => {
    const transaction = await createTransaction(service);
    const response = await open(transaction.path, { 'last-event-id': '1' });
    await until(() => service.app.longPollCount() === 1, 'one streaming');
    await feedChange(service, transaction, { status: 'FAILED', failure_reason: 'OTHER' });
    assert.deepEqual(
      (await events(response)).map(({ id }) => id),
      ['2'],
    );
  });

  test('answers 204 when Last-Event-ID names the final status, which tells a browser to stop', async () => {
    const transaction = await createTransaction(service, { status: 'SUCCESS' });
    const response = await open(transaction.path, { 'last-event-id': '1' });
    assert.equal(response.status, 204);
    assert.equal(await response.text(), '');
  });

  test('errors are in the envelope', async () => {
    const response = await open('/api/v1/check-status/TB9999999999');
    assert.equal(response.status, 404);
    assert.equal(((await response.json()) as { error_code: string }).error_code, 'TRANSACTION_NOT_FOUND');
  });

  for (const accept of ['application/json, text/event-stream;q=0.5', 'text/event-stream;q=0, */*', '*/*']) {
    test(`is not used when Accept prefers JSON: ${accept}`, async () => {
      const transaction = await createTransaction(service);
      const answer = await service.get(transaction.path, { headers: { accept } });
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.equal(answer.json.success, true);
    });
  }

  test('check-account does not stream', async () => {
    const answer = await service.checkAccount({}, { headers: { accept: 'text/event-stream' } });
    assert.equal(answer.status, 406);
  });

  test('leaves nothing open when the client disconnects', async () => {
    const transaction = await createTransaction(service);
    const leaving = new AbortController();
    const response = await fetch(service.url + transaction.path, {
      headers: { authorization: `Bearer ${service.alpha.token}`, accept: 'text/event-stream' },
      signal: leaving.signal,
    });
    await until(() => service.app.longPollCount() === 1, 'one streaming');
    leaving.abort();
    await assert.rejects(response.text());
    await until(() => service.app.longPollCount() === 0, 'none streaming');
  });
});
