import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, suite, type TestContext, test } from 'node:test';
import { call, dataOf, register } from '../callbacks/endpoints-harness.ts';
import { startTcpReceiver } from '../outbound/tcp-receiver.ts';
import { type BankRequest, type ScriptedBank, startScriptedBank, successOf } from '../rails/scripted-bank.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { send, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

// Regression: interim replies, and other bytes that are neither headers nor body for an HTTP parser, were not counted
// against the 64 KiB of a reply. 100,000 interim replies were read, and the reply after them was believed.

const MEBIBYTE = 1024 * 1024;
const INTERIM = 'HTTP/1.1 103 Early Hints\r\n\r\n';
const CHUNKED =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n';

/** Writes a reply with this body, after more bytes than the body may have. */
type Flood = (socket: Socket, body: string) => void;

const FLOODS: Readonly<Record<string, Flood>> = {
  '100,000 interim replies': (socket, body) => socket.write(INTERIM.repeat(100_000) + replyOf(body)),
  '33 interim replies': (socket, body) => socket.write(INTERIM.repeat(33) + replyOf(body)),
  'interim replies without end': (socket) => pour(socket, '', INTERIM.repeat(1_000)),
  'interim replies with 15 KiB of headers each': (socket, body) =>
    socket.write(`HTTP/1.1 103 Early Hints\r\nlink: ${'a'.repeat(15_000)}\r\n\r\n`.repeat(30) + replyOf(body)),
  'a reason phrase of 1 MiB': (socket, body) => socket.write(replyOf(body).replace('OK', 'O'.repeat(MEBIBYTE))),
  'a chunk extension without end': (socket) => pour(socket, `${CHUNKED}1;`, 'a'.repeat(50_000)),
  '1 MiB of blank lines': (socket, body) => socket.write('\r\n'.repeat(MEBIBYTE / 2) + replyOf(body)),
  'chunks of one byte in 8 KiB of extension': (socket, body) =>
    socket.write(`${CHUNKED + Array.from(body, (byte) => `1;${'a'.repeat(8_000)}\r\n${byte}\r\n`).join('')}0\r\n\r\n`),
};

/** Closes the connection, because the bank's HTTP server does not know of these bytes and would answer nothing more. */
function replyOf(body: string): string {
  const headers = ['content-type: application/json', 'connection: close', `content-length: ${Buffer.byteLength(body)}`];
  return `HTTP/1.1 200 OK\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
}

/** Writes without end, as fast as the other side reads. */
function pour(socket: Socket, head: string, rest: string): void {
  socket.write(head);
  const more = (): void => {
    while (!socket.destroyed && socket.write(rest));
  };
  socket.on('drain', more);
  more();
}

/** One bank for each flood, so that each has a circuit breaker of its own. */
const BANKS = ['BRINIDJA', 'BMRIIDJA', 'BNINIDJA', 'BTANIDJA', 'BNIAIDJA', 'BDINIDJA', 'BBBAIDJA', 'NISPIDJA'];
const FEW_INTERIM_REPLIES = 'SYCAIDJ1';

let bank: ScriptedBank;
let service: TestService;
before(async () => {
  const floods = new Map(BANKS.map((bic, index) => [bic, Object.values(FLOODS)[index]]));
  const answer = (request: BankRequest, socket: Socket): void => {
    const body = JSON.stringify(successOf(request));
    const flood = floods.get(request.fields['beneficiaryBankCode'] ?? '');
    if (flood === undefined) socket.write(INTERIM.repeat(32) + replyOf(body));
    else flood(socket, body);
  };
  bank = await startScriptedBank({
    inquiry: (request, { socket }) => {
      if (socket !== null) answer(request, socket);
    },
  });
  service = await startTestService({ rails: [bank.rail(rsaKeys())] });
});
after(async () => {
  await service?.close();
  await bank?.close();
});

suite('a bank that sends', () => {
  for (const [index, name] of Object.keys(FLOODS).entries()) {
    test(`${name} is not believed, and is cut off`, async () => {
      const bankCode = BANKS[index];
      const startedMs = performance.now();
      const answer = await service.checkAccount({ bank_code: bankCode, account_number: '7000001009' });
      const tookMs = performance.now() - startedMs;
      assert.equal(answer.json.error_code, 'SERVICE_UNAVAILABLE', answer.text);
      assert.ok(tookMs < timeLimitMs(1_000), `after ${tookMs} ms, not at the deadline`);
      assert.equal(await lastFailureOf(bankCode), 'invalid_response');
    });
  }

  test('32 interim replies before its reply is believed', async () => {
    const answer = await service.checkAccount({ bank_code: FEW_INTERIM_REPLIES, account_number: '7000001009' });
    assert.equal(answer.json.data?.['status'], 'ACTIVE', answer.text);
  });

  async function lastFailureOf(bic: string | undefined): Promise<unknown> {
    const { token } = await service.addClient(`operator-${bic}`, ['operator:read']);
    const headers = { authorization: `Bearer ${token}` };
    const { json } = await send(`${service.operatorUrl}/operator/v1/rails`, { method: 'GET', headers });
    const [rail] = (json.data?.['rails'] ?? []) as { banks: { bic: string; no_verdicts: { reason: string }[] }[] }[];
    return rail?.banks.find((each) => each.bic === bic)?.no_verdicts[0]?.reason;
  }
});

suite('a receiver that sends', () => {
  for (const [name, flood] of Object.entries(FLOODS)) {
    test(`${name} has not accepted the callback, and is cut off`, async (context) => {
      const { tested, tookMs } = await testCallbackTo(context, (socket) => flood(socket, '{}'.padEnd(100)));
      assert.deepEqual([tested['succeeded'], tested['http_status']], [false, null]);
      assert.match(String(tested['error']), /above the size limit$|more than 32 interim \(1xx\) replies$/);
      assert.ok(tookMs < timeLimitMs(1_000), `after ${tookMs} ms, not at the timeout`);
    });
  }

  test('32 interim replies before its reply has accepted the callback', async (context) => {
    const { tested } = await testCallbackTo(context, (socket) => socket.write(INTERIM.repeat(32) + replyOf('')));
    assert.deepEqual([tested['succeeded'], tested['http_status']], [true, 200]);
  });

  /** Sends a test callback to a receiver that answers with raw bytes. The endpoints belong to a client of their own. */
  async function testCallbackTo(context: TestContext, respond: (socket: Socket) => void) {
    const { port } = await startTcpReceiver(context, (socket) => socket.once('data', () => respond(socket)));
    const { token } = await service.addClient(`receiver-${port}`, ['callbacks:manage']);
    const { endpointId } = await register(service, { url: `http://127.0.0.1:${port}/` }, token);
    const startedMs = performance.now();
    const answer = await call(service, 'POST', `/api/v1/callback-endpoints/${endpointId}/test`, { token });
    return { tested: dataOf(answer), tookMs: performance.now() - startedMs };
  }
});
