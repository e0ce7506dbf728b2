import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fieldsOf, isSigned, START, setUp } from './notified-bank.ts';
import type { Partner } from './partner.ts';
import { INTRABANK_ORDER, INTRABANK_PATH, orderTransfer, statusOf } from './transfers.ts';

/**
 * Orders a transfer whose notification shows that all before it have come: they are sent in the order of their times.
 */
async function orderMarker(partner: Partner, name: string): Promise<void> {
  await orderTransfer(partner, name, '0001');
}

describe('a notification', () => {
  it('tells of a success with SNAP’s fields and headers, signed with an empty access token', async (context) => {
    const { receiver, partner, push } = await setUp(context);
    const referenceNo = await orderTransfer(partner, 'SUCCESS', '0001');
    await push(2);
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
    // The real time, although transfers are two seconds ahead of it.
    assert.equal(headers['x-timestamp'], START);
    assert.equal(headers['x-partner-id'], 'TIBATEST');
    assert.equal(headers['channel-id'], '95221');
    assert.match(String(headers['x-external-id']), /^\d{22}$/);
    assert.equal(headers.authorization, undefined);
    assert.ok(isSigned(notification, partner.settings));
    assert.ok(!isSigned({ ...notification, body: `${notification.body} ` }, partner.settings));
  });

  it('tells of a failure with its reason, for either service', async (context) => {
    const { receiver, partner, push } = await setUp(context);
    await orderTransfer(partner, 'FAILURE', '4309');
    await partner.send(INTRABANK_PATH, { ...INTRABANK_ORDER, beneficiaryAccountNo: '8888014404' });
    await push(2);
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

  it('comes by itself when its time has come', async (context) => {
    const { receiver, partner } = await setUp(context, { now: Date.now });
    const orderedAtMs = Date.now();
    await orderTransfer(partner, 'BY-ITSELF', '0001');
    await receiver.untilReceived(1);
    const tookMs = (receiver.requests[0]?.atMs ?? 0) - orderedAtMs;
    assert.ok(tookMs >= 2000 && tookMs < 10_000, `${tookMs} ms`);
  });

  it('does not come before its time', async (context) => {
    const { receiver, partner, push } = await setUp(context);
    await orderTransfer(partner, 'SLOW', '2030');
    await orderMarker(partner, 'MARKER');
    await push(1799);
    await receiver.untilReceived(1);
    assert.deepEqual(receiver.statusesOf('MARKER'), ['00']);
    await push(1);
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
    it(`of a transfer that ends in ${ending} comes as [${statuses.join()}], in this order also when time jumps`, async (context) => {
      const { receiver, partner, push } = await setUp(context);
      const count = 20;
      for (let index = 0; index < count; index += 1) await orderTransfer(partner, `T-${index}`, ending);
      await push(24 * 60 * 60);
      await orderMarker(partner, 'MARKER');
      await push(2);
      await receiver.untilReceived(count * statuses.length + 1);
      assert.deepEqual(receiver.statusesOf('MARKER'), ['00']);
      for (let index = 0; index < count; index += 1) assert.deepEqual(receiver.statusesOf(`T-${index}`), statuses);
    });
  }

  it('that contradicts comes 5 seconds after the first, with a reason, and the inquiry never says so', async (context) => {
    const { receiver, partner, push } = await setUp(context);
    await orderTransfer(partner, 'CONTRADICTED', '7606');
    await push(2);
    await receiver.untilReceived(1);
    await orderMarker(partner, 'MARKER');
    await push(4);
    await receiver.untilReceived(2);
    assert.deepEqual(receiver.statusesOf('CONTRADICTED'), ['00']);
    await push(1);
    await receiver.untilReceived(3);
    assert.equal(receiver.requests.map(fieldsOf)[2]?.['previousResponseCode'], '4031805');
    assert.equal(await statusOf(partner, 'CONTRADICTED'), '00');
  });

  it('that is late comes 60 seconds after the end, which the inquiry tells at once', async (context) => {
    const { receiver, partner, push } = await setUp(context);
    await orderTransfer(partner, 'LATE', '7660');
    await push(59);
    assert.equal(await statusOf(partner, 'LATE'), '00');
    await orderMarker(partner, 'MARKER');
    await push(2);
    await receiver.untilReceived(1);
    assert.deepEqual(receiver.statusesOf('LATE'), []);
    await push(1);
    await receiver.untilReceived(2);
    assert.deepEqual(receiver.statusesOf('LATE'), ['00']);
  });

  it('sent twice is the same twice, each with its own external id', async (context) => {
    const { receiver, partner, push } = await setUp(context);
    await orderTransfer(partner, 'TWICE', '7602');
    await push(2);
    await receiver.untilReceived(2);
    const [one, other] = receiver.requests;
    assert.equal(one?.body, other?.body);
    assert.notEqual(one?.headers['x-external-id'], other?.headers['x-external-id']);
  });
});
