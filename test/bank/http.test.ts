import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { RunningBank } from '../../apps/bank/src/server.ts';
import { EXTERNAL_PATH, INTERNAL_PATH, outcomeOf, type Partner, startBankWithPartner, TOKEN_PATH } from './partner.ts';

const UNANSWERED_ACCOUNT = { beneficiaryAccountNo: '8888010504' };

describe('the bank over HTTP', () => {
  let bank: RunningBank;
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ bank, partner, close } = await startBankWithPartner());
    await partner.authorize();
  });
  after(() => close());

  it('reports its health at /healthz', async () => {
    const response = await fetch(`${bank.baseUrl}/healthz`);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: 'up' });
  });

  const unknown = [
    ['GET', TOKEN_PATH],
    ['PUT', INTERNAL_PATH],
    ['POST', '/v1.0/access-token'],
    ['POST', `${EXTERNAL_PATH}/`],
    ['POST', '/v2.0/account-inquiry-external'],
    ['POST', '/healthz'],
    ['DELETE', '/'],
  ] as const;
  for (const [method, path] of unknown) {
    it(`answers 404 in JSON to ${method} ${path}`, async () => {
      const response = await fetch(bank.baseUrl + path, { method });
      assert.equal(response.status, 404);
      assert.equal(response.headers.get('content-type'), 'application/json');
      assert.deepEqual(await response.json(), { responseCode: '4040002', responseMessage: 'Invalid Routing' });
    });
  }

  it('accepts a body of 16 KiB and rejects a longer one', async () => {
    const frame = JSON.stringify({ beneficiaryAccountNo: '8888010001', additionalInfo: { note: '' } }).length;
    const bodyOf = (bytes: number) => ({
      beneficiaryAccountNo: '8888010001',
      additionalInfo: { note: 'n'.repeat(bytes - frame) },
    });
    assert.equal((await partner.send(INTERNAL_PATH, bodyOf(16 * 1024))).status, 200);
    const answer = await partner.send(INTERNAL_PATH, bodyOf(16 * 1024 + 1));
    assert.equal(outcomeOf(answer), '400 4001500 Bad Request');
    assert.equal(answer.headers.get('connection'), 'close');
  });

  it('never responds for an account that ends in 0504, and serves other requests meanwhile', async () => {
    for (const [path, fields] of [
      [INTERNAL_PATH, UNANSWERED_ACCOUNT],
      [EXTERNAL_PATH, { ...UNANSWERED_ACCOUNT, beneficiaryBankCode: '002' }],
    ] as const) {
      const abort = new AbortController();
      const unanswered = partner.send(path, fields, { signal: abort.signal });
      const other = await partner.send(INTERNAL_PATH, { beneficiaryAccountNo: '8888010001' });
      assert.equal(other.status, 200);
      abort.abort();
      await assert.rejects(unanswered, { name: 'AbortError' });
    }
  });

  it('keeps an idle connection open for another request', async () => {
    const socket = connect(Number(new URL(bank.baseUrl).port), '127.0.0.1');
    const request = 'GET /healthz HTTP/1.1\r\nHost: bank\r\n\r\n';
    for (let count = 0; count < 2; count += 1) {
      socket.write(request);
      const [chunk] = await once(socket, 'data');
      assert.match(String(chunk), /^HTTP\/1\.1 200 /);
    }
    socket.destroy();
  });
});

describe('close', () => {
  it('ends at once despite unanswered requests, and may be called twice', async () => {
    const { partner, close } = await startBankWithPartner();
    await partner.authorize();
    const unanswered = assert.rejects(partner.send(INTERNAL_PATH, UNANSWERED_ACCOUNT), TypeError);
    // The response to this request shows that the bank has received the previous one.
    await partner.send(INTERNAL_PATH, { beneficiaryAccountNo: '8888010001' });
    await close();
    await unanswered;
    await close();
    await assert.rejects(partner.requestToken(), TypeError);
  });
});
