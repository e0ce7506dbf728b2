import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertError } from '../contract/assertions.ts';
import { openRawConnection, rawRequest } from '../contract/raw-connection.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';

/** Regression: a client that stopped sending was logged as an internal error, with a stack. Nothing is to be done. */

const FEED = '/feed/v1/transactions';
const IDLE_TIMEOUT_MS = 300;
const WARN = 40;

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [], slowPeers: { feedLineMs: IDLE_TIMEOUT_MS } });
});
after(() => service?.close());

const feedHead = (type: string, length: Record<string, string>): Buffer =>
  rawRequest('POST', FEED, {
    headers: { authorization: `Bearer ${service.core.token}`, 'content-type': type, ...length },
  });

const CHUNKED = { 'transfer-encoding': 'chunked' };
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

const accessLine = (): Record<string, unknown> | undefined =>
  service.logged.find(({ errorCode }) => errorCode === 'REQUEST_TIMEOUT');

function assertNothingToDo(): void {
  assert.deepEqual(
    service.logged.filter(({ level }) => Number(level) >= WARN),
    [],
  );
}

test('a feed that falls silent gets 408 with what was stored, and its connection closes', async () => {
  service.logged.length = 0;
  const connection = await openRawConnection(service.operatorUrl);
  connection.send(feedHead('application/x-ndjson', CHUNKED));
  connection.send(chunk(`${JSON.stringify(statusUpdate())}\n`));
  const answer = await connection.read();
  assert.ok(answer !== null);
  assertError(answer, 'REQUEST_TIMEOUT');
  assert.match(
    answer.json.message,
    /^The feed completed no line for 0\.3 s \(stored so far: 1 inserted.*send the whole feed/,
  );
  await connection.closed;
  assert.equal(accessLine()?.['status'], 408);
  assertNothingToDo();
});

suite('a client that stops in the middle of a body: logged at info with the reason, never as an error', () => {
  const cases: readonly [string, (service: TestService) => { url: string; head: Buffer; body: string }][] = [
    [
      'a feed of NDJSON',
      ({ operatorUrl: url }) => ({ url, head: feedHead('application/x-ndjson', CHUNKED), body: chunk('{}\n') }),
    ],
    [
      'a feed of JSON',
      ({ operatorUrl: url }) => ({ url, head: feedHead('application/json', { 'content-length': '9' }), body: '[' }),
    ],
    [
      'an account check',
      ({ url, alpha: { token } }) => ({
        url,
        head: rawRequest('POST', '/api/v1/check-account', {
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': '9' },
        }),
        body: '{',
      }),
    ],
  ];
  for (const [name, request] of cases) {
    test(name, async () => {
      service.logged.length = 0;
      const { url, head, body } = request(service);
      const connection = await openRawConnection(url);
      connection.send(head);
      connection.send(body);
      connection.endSending();
      await connection.closed;
      await eventually('the request is logged', () => accessLine() !== undefined);
      assert.equal(accessLine()?.['reason'], 'the connection ended before the body');
      assertNothingToDo();
    });
  }
});
