import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { until } from '../long-poll/transactions.ts';
import { type Answer, send } from '../support/requests.ts';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';

/** A disbursement from its creation to its callbacks, in the sandbox as a newcomer runs it. */

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const received: Received[] = [];
const receiver = createServer((request, response) => {
  text(request).then(
    (body) => {
      received.push({ headers: request.headers, body });
      response.writeHead(204).end();
    },
    () => response.destroy(),
  );
});
let dataDirectory: string;
let sandbox: Sandbox;

before(async () => {
  dataDirectory = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  sandbox = await startSandbox({ dataDirectory });
});
after(async () => {
  try {
    await sandbox?.stop();
  } finally {
    receiver.close();
    receiver.closeAllConnections();
    await rm(dataDirectory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
});

const post = (url: string, token: string, body: unknown): Promise<Answer> =>
  send(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const status = (transactionId: string, headers: Record<string, string> = {}): Promise<Answer> =>
  send(`${sandbox.description.base_url}/api/v1/check-status/${transactionId}`, {
    headers: { authorization: `Bearer ${sandbox.description.clients[0].access_token}`, ...headers },
  });

async function disburse(accountNumber: string): Promise<string> {
  const { operator_url: operatorUrl, feed } = sandbox.description;
  const answer = await post(`${operatorUrl}/sandbox/v1/disbursements`, feed.access_token, {
    account_number: accountNumber,
  });
  assert.equal(answer.status, 201, answer.text);
  return String(answer.json.data?.['transaction_id']);
}

const about = (transactionId: string): Received[] => received.filter(({ body }) => body.includes(transactionId));

/** `data` of an envelope or of a callback, byte for byte. */
const dataOf = (body: string): string => /"data":(\{.*?\})(?:,"meta"|\}$)/s.exec(body)?.[1] ?? '';

let secret: string;

test('an endpoint can be registered at a loopback address, which only the sandbox allows', async () => {
  const { port } = receiver.address() as AddressInfo;
  const { base_url: url, clients } = sandbox.description;
  const answer = await post(`${url}/api/v1/callback-endpoints`, clients[0].access_token, {
    url: `http://127.0.0.1:${port}/callbacks`,
  });
  assert.equal(answer.status, 201, answer.text);
  secret = String(answer.json.data?.['secret']);
});

test('a disbursement made before kill -9 becomes SUCCESS after it; its callback and GET have equal data', async () => {
  const transactionId = await disburse('1234567890');
  await sandbox.kill();
  sandbox = await startSandbox({ dataDirectory });

  const answer = await status(transactionId, { prefer: 'wait=60' });
  assert.equal(answer.json.data?.['status'], 'SUCCESS', answer.text);
  await until(() => about(transactionId).length > 0, 'the callback');
  const [callback] = about(transactionId);
  assert.ok(callback !== undefined);
  const verified = new Webhook(secret).verify(callback.body, callback.headers as Record<string, string>) as {
    type: string;
    version: number;
  };
  assert.equal(verified.type, 'disbursement.succeeded');
  assert.equal(`"${verified.version}"`, answer.headers.get('etag'));
  assert.equal(dataOf(callback.body), dataOf(answer.text));
  assert.throws(() => new Webhook(secret).verify(`${callback.body} `, callback.headers as Record<string, string>));
});

// Most of their time they wait for the bank.
suite('disbursements at the same time', { concurrency: true }, () => {
  test('a lost notification: the bank is inquired', async () => {
    const transactionId = await disburse('1234567600');
    const answer = await status(transactionId, { prefer: 'wait=60' });
    assert.equal(answer.json.data?.['status'], 'SUCCESS', answer.text);
  });

  test('a contradicting notification and a repeated one change nothing', async () => {
    const ids = [await disburse('1234567606'), await disburse('1234567602')];
    for (const id of ids) {
      assert.equal((await status(id, { prefer: 'wait=30' })).json.data?.['status'], 'SUCCESS');
    }
    const [contradicted = ''] = ids;
    const readMetrics = (): Promise<Answer> => send(`${sandbox.description.operator_url}/metrics`, {});
    await until(
      async () => /tiba_feed_lines_total\{outcome="conflict"\} [1-9]/.test((await readMetrics()).text),
      'the conflict is counted',
    );
    const answer = await status(contradicted);
    assert.equal(answer.json.data?.['status'], 'SUCCESS');
    assert.equal(answer.headers.get('etag'), '"2"');
  });

  test('money returned after SUCCESS is an event, and the status does not change', async () => {
    const transactionId = await disburse('1234567604');
    assert.equal((await status(transactionId, { prefer: 'wait=30' })).json.data?.['status'], 'SUCCESS');
    await until(() => about(transactionId).length === 2, 'the reversal');
    const kinds = about(transactionId).map(({ body }) => (JSON.parse(body) as { type: string }).type);
    assert.deepEqual(kinds, ['disbursement.succeeded', 'disbursement.reversed']);
    const answer = await status(transactionId);
    assert.equal(answer.json.data?.['status'], 'SUCCESS');
    assert.equal(answer.headers.get('etag'), '"3"');
  });

  test('each kind of failure has its published reason', async () => {
    const reasons = [
      ['4411', 'ACCOUNT_NOT_FOUND'],
      ['4309', 'ACCOUNT_DORMANT'],
      ['4314', 'INSUFFICIENT_FUNDS'],
      ['4404', 'CANCELLED'],
      ['4400', 'REFUNDED'],
    ] as const;
    await Promise.all(
      reasons.map(async ([ending, code]) => {
        const answer = await status(await disburse(`123456${ending}`), { prefer: 'wait=30' });
        assert.equal(answer.json.data?.['status'], 'FAILED');
        assert.match(String(answer.json.data?.['failure_reason']), new RegExp(`^${code}: .+\\. .+`));
      }),
    );
  });

  test('a wrong disbursement is answered INVALID_REQUEST', async () => {
    const { operator_url: operatorUrl, feed } = sandbox.description;
    for (const disbursement of [
      { amount: '0' },
      { amount: 'much' },
      { account_number: 'x' },
      { bank_code: '999' },
      { client_id: 'unknown' },
    ]) {
      const answer = await post(`${operatorUrl}/sandbox/v1/disbursements`, feed.access_token, disbursement);
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.json.error_code, 'INVALID_REQUEST');
    }
  });
});

// Regression: the message had the bank's whole answer, JSON within JSON.
test('a wrong time to advance the clock by is answered with what it must be', async () => {
  const { operator_url: operatorUrl, feed } = sandbox.description;
  const answer = await post(`${operatorUrl}/sandbox/v1/clock`, feed.access_token, { advance_seconds: -1 });
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.json.message, /^Invalid request: advance_seconds must be a whole number from 0 to \d+$/);
});

test("a transfer of 30 minutes succeeds as soon as the bank's clock is advanced", async () => {
  const transactionId = await disburse('1234562030');
  const { operator_url: operatorUrl, feed } = sandbox.description;
  const advanced = await post(`${operatorUrl}/sandbox/v1/clock`, feed.access_token, { advance_seconds: 1_800 });
  assert.equal(advanced.status, 200, advanced.text);
  assert.equal((await status(transactionId, { prefer: 'wait=60' })).json.data?.['status'], 'SUCCESS');
});
