import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { after, before, describe, it } from 'node:test';
import type { RunningBank } from '../../apps/bank/src/server.ts';
import { isLoopback } from '../../apps/bank/src/simulation.ts';
import { createClock, type Partner, startBankWithPartner } from './partner.ts';
import { advanceClock, inquireStatus, orderTransfer, sendToClock, statusOf } from './transfers.ts';

const START = '2026-11-21T03:30:24.000Z';
const HUNDRED_YEARS_SECONDS = 100 * 365 * 24 * 60 * 60;

describe('the clock of transfers', () => {
  const clock = createClock(START);
  let bank: RunningBank;
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ bank, partner, close } = await startBankWithPartner(clock.now));
    await partner.authorize();
  });
  after(() => close());

  it('shows the real time plus the sum of all advances', async () => {
    assert.deepEqual(await advanceClock(bank.baseUrl, 0), { now: START, advanced_seconds: 0 });
    const first = await advanceClock(bank.baseUrl, 90);
    assert.deepEqual(first, { now: '2026-11-21T03:31:54.000Z', advanced_seconds: 90 });
    clock.advance(1500);
    const second = await advanceClock(bank.baseUrl, 1800);
    assert.deepEqual(second, { now: '2026-11-21T04:01:55.500Z', advanced_seconds: 1890 });
  });

  it('does not affect timestamps, tokens and external ids, which use the real time', async () => {
    await advanceClock(bank.baseUrl, 7 * 24 * 60 * 60);
    const answer = await partner.requestToken();
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-timestamp'), '2026-11-21T10:30:25+07:00');
    // The token was issued before the advance, and a week is longer than its lifetime.
    await orderTransfer(partner, 'AFTER-ADVANCE', '0001');
    assert.equal(await statusOf(partner, 'AFTER-ADVANCE'), '03');
  });

  const malformed = [
    '',
    'null',
    '[]',
    '{}',
    '{"advance_seconds":"60"}',
    '{"advance_seconds":-1}',
    '{"advance_seconds":0.5}',
    '{"advance_seconds":1e99}',
    '{"advance_seconds":null}',
    `{"advance_seconds":${HUNDRED_YEARS_SECONDS + 1}}`,
    `{"advance_seconds":60,"note":"${'n'.repeat(16 * 1024)}"}`,
  ];
  it('is not changed by a malformed request', async () => {
    const before = await advanceClock(bank.baseUrl, 0);
    for (const body of malformed) {
      const response = await sendToClock(bank.baseUrl, body);
      assert.equal(response.status, 400, body.slice(0, 60));
      assert.match(await response.text(), /^\{"error":"advance_seconds must be a whole number from 0 to \d+\."\}$/);
    }
    assert.deepEqual(await advanceClock(bank.baseUrl, 0), before);
  });

  it('is not changed by a content type that a web page can send without a CORS preflight', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
      assert.equal((await sendToClock(bank.baseUrl, '{"advance_seconds":60}', type)).status, 415);
    }
  });

  it('is not read by GET', async () => {
    assert.equal((await fetch(`${bank.baseUrl}/simulation/clock`)).status, 404);
  });

  it('advances by a hundred years at most', async () => {
    const { advanced_seconds: advancedSeconds } = await advanceClock(bank.baseUrl, 0);
    await advanceClock(bank.baseUrl, HUNDRED_YEARS_SECONDS - advancedSeconds);
    assert.equal((await sendToClock(bank.baseUrl, '{"advance_seconds":1}')).status, 400);
  });
});

describe('a transfer that the simulation orders', () => {
  const ORDER = { reference: 'REHEARSAL-1', account_number: '1234560001', amount: '150000.00' };
  const order = (fields: object): Promise<Response> =>
    fetch(`${bank.baseUrl}/simulation/transfers`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(fields),
      signal: AbortSignal.timeout(10_000),
    });
  let bank: RunningBank;
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ bank, partner, close } = await startBankWithPartner());
    await partner.authorize();
  });
  after(() => close());

  it('is one of service 17, which the status inquiry finds; its reference cannot be used again', async () => {
    const accepted = await order(ORDER);
    assert.equal(accepted.status, 201);
    const { bank_reference: bankReference } = (await accepted.json()) as { bank_reference: string };
    await advanceClock(bank.baseUrl, 2);
    const { fields } = await inquireStatus(partner, ORDER.reference, '17');
    assert.equal(fields['latestTransactionStatus'], '00');
    assert.equal(fields['originalReferenceNo'], bankReference);
    assert.equal((await order(ORDER)).status, 409);
  });

  it('is not ordered by a malformed request', async () => {
    for (const [name, value] of [
      ['reference', ''],
      ['account_number', 1_234_567_890],
      ['amount', '150000'],
      ['amount', '0.00'],
    ] as const) {
      const response = await order({ ...ORDER, reference: 'REHEARSAL-2', [name]: value });
      assert.equal(response.status, 400);
      assert.match(await response.text(), new RegExp(`^\\{"error":"${name} must be `));
    }
    assert.equal((await order({ ...ORDER, reference: 'REHEARSAL-2' })).status, 201);
  });
});

describe('a bank that listens on all addresses', () => {
  it('exposes the clock to this machine only', async (context) => {
    const { bank, close } = await startBankWithPartner(Date.now, { host: '0.0.0.0' });
    context.after(() => close());
    const { port } = new URL(bank.baseUrl);
    assert.equal((await sendToClock(`http://127.0.0.1:${port}`, '{"advance_seconds":0}')).status, 200);
    const address = outsideAddress();
    if (address === null) {
      context.diagnostic('This machine has only loopback addresses: access from another address was not tested.');
      return;
    }
    const response = await sendToClock(`http://${address}:${port}`, '{"advance_seconds":0}');
    assert.equal(response.status, 404);
    assert.deepEqual(await response.json(), { responseCode: '4040002', responseMessage: 'Invalid Routing' });
  });

  it('distinguishes loopback addresses from others', () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
      assert.ok(isLoopback(address), address);
    for (const address of ['10.0.0.1', '::ffff:10.0.0.1', 'fe80::1', '127::1', '', undefined]) {
      assert.equal(isLoopback(address), false, String(address));
    }
  });
});

/** An address of this machine that is not loopback. */
function outsideAddress(): string | null {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? null;
}
