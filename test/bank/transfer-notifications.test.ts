import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fieldsOf, isSigned, START, setUp } from './notified-bank.ts';
import type { Partner } from './partner.ts';
import { INTRABANK_ORDER, INTRABANK_PATH, orderTransfer, statusOf } from './transfers.ts';

/**
 * Orders a transfer whose notification shows that all earlier notifications have arrived: they are sent in order of
 * due time.
 */
async function orderMarker(partner: Partner, name: string): Promise<void> {
  await orderTransfer(partner, name, '0001');
}

describe('a notification', () => {
  it('reports a success with SNAP’s fields and headers, signed with an empty access token', async (context) => {
    const { receiver, partner, advance } = await setUp(context);
    const referenceNo = await orderTransfer(partner, 'SUCCESS', '0001');
    await advance(2);
    await receiver.untilReceived(1);
    const [notification] = receiver.requests;
    assert.ok(notification !== undefined);
    const { method, path, headers } = notification;
    assert.equal(`${method} ${path}`, 'POST /notify/transfers?from=bank');
    assert.deepEqual(fieldsOf(notification), {
      originalReferenceNo: referenceNo,
      originalPartnerReferenceNo: 'SUCCESS',
      latestTransactionStatus: '00',
      transactionStatusDesc: 'Success',
      amount: { value: '150000.00', currency: 'IDR' },
      beneficiaryAccountNo: '888801000001',
      beneficiaryBankCode: '002',
      transactionDate: '2026-11-21T10:30:24+07:00',
    });
    assert.equal(headers['content-type'], 'application/json');
    // The real time, although the clock of transfers is two seconds ahead of it.
    assert.equal(headers['x-timestamp'], START);
    assert.equal(headers['x-partner-id'], 'TIBATEST');
    assert.equal(headers['channel-id'], '95221');
    assert.match(String(headers['x-external-id']), /^\d{22}$/);
    assert.equal(headers.authorization, undefined);
    assert.ok(isSigned(notification, partner.settings));
    assert.ok(!isSigned({ ...notification, body: `${notification.body} ` }, partner.settings));
  });

  it('reports a failure with its reason, for either service', async (context) => {
    const { receiver, partner, advance } = await setUp(context);
    await orderTransfer(partner, 'FAILURE', '4309');
    await partner.send(INTRABANK_PATH, { ...INTRABANK_ORDER, beneficiaryAccountNo: '8888014404' });
    await advance(2);
    await receiver.untilReceived(2);
    const reasons = receiver.requests
      .map(fieldsOf)
      .map((fields) =>
        [
          fields['originalPartnerReferenceNo'],
          fields['latestTransactionStatus'],
          fields['previousResponseCode'],
          fields['beneficiaryBankCode'],
        ].join(' '),
      );
    assert.deepEqual(reasons.sort(), ['FAILURE 06 4031809 002', 'PAY-17 05 4041704 CENAIDJA']);
  });

  it('is sent at its due time without an advance of the clock', async (context) => {
    const { receiver, partner } = await setUp(context, { now: Date.now });
    const orderedAtMs = Date.now();
    await orderTransfer(partner, 'WITHOUT-ADVANCE', '0001');
    await receiver.untilReceived(1);
    const tookMs = (receiver.requests[0]?.atMs ?? 0) - orderedAtMs;
    assert.ok(tookMs >= 2000 && tookMs < 10_000, `${tookMs} ms`);
  });

  it('is not sent before its due time', async (context) => {
    const { receiver, partner, advance } = await setUp(context);
    await orderTransfer(partner, 'SLOW', '2030');
    await orderMarker(partner, 'MARKER');
    await advance(1799);
    await receiver.untilReceived(1);
    assert.deepEqual(receiver.statusesOf('MARKER'), ['00']);
    await advance(1);
    await receiver.untilReceived(2);
    assert.deepEqual(receiver.statusesOf('SLOW'), ['00']);
  });

  for (const [ending, statuses] of [
    ['7600', []],
    ['7602', ['00', '00']],
    ['7606', ['00', '06']],
    ['7604', ['00', '04']],
    ['3607', []],
    ['3603', []],
  ] as const) {
    it(`of a transfer to an account that ends in ${ending} is sent as [${statuses.join()}], in this order also after a large advance`, async (context) => {
      const { receiver, partner, advance } = await setUp(context);
      const count = 20;
      for (let index = 0; index < count; index += 1) await orderTransfer(partner, `T-${index}`, ending);
      await advance(24 * 60 * 60);
      await orderMarker(partner, 'MARKER');
      await advance(2);
      await receiver.untilReceived(count * statuses.length + 1);
      assert.deepEqual(receiver.statusesOf('MARKER'), ['00']);
      for (let index = 0; index < count; index += 1) assert.deepEqual(receiver.statusesOf(`T-${index}`), statuses);
    });
  }

  it('that contradicts the inquiry is sent 5 seconds after the first, with a reason, and the inquiry never reports it', async (context) => {
    const { receiver, partner, advance } = await setUp(context);
    await orderTransfer(partner, 'CONTRADICTED', '7606');
    await advance(2);
    await receiver.untilReceived(1);
    await orderMarker(partner, 'MARKER');
    await advance(4);
    await receiver.untilReceived(2);
    assert.deepEqual(receiver.statusesOf('CONTRADICTED'), ['00']);
    await advance(1);
    await receiver.untilReceived(3);
    assert.equal(receiver.requests.map(fieldsOf)[2]?.['previousResponseCode'], '4031805');
    assert.equal(await statusOf(partner, 'CONTRADICTED'), '00');
  });

  it('that is late is sent 60 seconds after the final status, which the inquiry reports at once', async (context) => {
    const { receiver, partner, advance } = await setUp(context);
    await orderTransfer(partner, 'LATE', '7660');
    await advance(59);
    assert.equal(await statusOf(partner, 'LATE'), '00');
    await orderMarker(partner, 'MARKER');
    await advance(2);
    await receiver.untilReceived(1);
    assert.deepEqual(receiver.statusesOf('LATE'), []);
    await advance(1);
    await receiver.untilReceived(2);
    assert.deepEqual(receiver.statusesOf('LATE'), ['00']);
  });

  it('that is sent twice has the same body and a new external id each time', async (context) => {
    const { receiver, partner, advance } = await setUp(context);
    await orderTransfer(partner, 'TWICE', '7602');
    await advance(2);
    await receiver.untilReceived(2);
    const [one, other] = receiver.requests;
    assert.equal(one?.body, other?.body);
    assert.notEqual(one?.headers['x-external-id'], other?.headers['x-external-id']);
  });
});
