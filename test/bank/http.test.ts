import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { RunningBank } from '../../apps/bank/src/server.ts';
import { EXTERNAL_PATH, INTERNAL_PATH, outcomeOf, type Partner, startBankWithPartner, TOKEN_PATH } from './partner.ts';

const SILENT_ACCOUNT = { beneficiaryAccountNo: '8888010504' };

describe('the bank over HTTP', () => {
  let bank: RunningBank;
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ bank, partner, close } = await startBankWithPartner());
    await partner.authorize();
  });
  after(() => close());

  it('tells that it is up', async () => {
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

  it('reads a body of 16 KiB and refuses a longer one', async () => {
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

  it('never answers about an account that ends in 0504, until the client leaves, and serves others meanwhile', async () => {
    for (const [path, fields] of [
      [INTERNAL_PATH, SILENT_ACCOUNT],
      [EXTERNAL_PATH, { ...SILENT_ACCOUNT, beneficiaryBankCode: '002' }],
    ] as const) {
      const leaving = new AbortController();
      const silent = partner.send(path, fields, { signal: leaving.signal });
      const other = await partner.send(INTERNAL_PATH, { beneficiaryAccountNo: '8888010001' });
      assert.equal(other.status, 200);
      leaving.abort();
      await assert.rejects(silent, { name: 'AbortError' });
    }
  });

  it('keeps a quiet connection open for another request', async () => {
    const socket = connect(Number(new URL(bank.baseUrl).port), '127.0.0.1');
    const request = 'GET /healthz HTTP/1.1\r\nHost: bank\r\n\r\n';
    for (let round = 0; round < 2; round += 1) {
      socket.write(request);
      const [chunk] = await once(socket, 'data');
      assert.match(String(chunk), /^HTTP\/1\.1 200 /);
    }
    socket.destroy();
  });
});

describe('close', () => {
  it('ends at once with requests hanging, and is harmless twice', async () => {
    const { partner, close } = await startBankWithPartner();
    await partner.authorize();
    const hanging = assert.rejects(partner.send(INTERNAL_PATH, SILENT_ACCOUNT), TypeError);
    // An answered request shows that the bank has taken the one before it.
    await partner.send(INTERNAL_PATH, { beneficiaryAccountNo: '8888010001' });
    await close();
    await hanging;
    await close();
    await assert.rejects(partner.requestToken(), TypeError);
  });
});
