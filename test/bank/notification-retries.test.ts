import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { timeLimitMs } from '../support/suite-environment.ts';
import { fieldsOf, isSigned, type Reaction, setUp } from './notified-bank.ts';
import { orderTransfer, statusOf } from './transfers.ts';

// Most of these wait for the bank's retry delays, so they run concurrently.
describe('a notification that the receiver does not accept', { concurrency: true }, () => {
  it('is sent three times, a second apart, with a new signature each time, and then dropped', async (context) => {
    const { receiver, partner, advance } = await setUp(context, { react: () => 503 });
    await orderTransfer(partner, 'REJECTED', '7606');
    await advance(7);
    // Three attempts for the success; after it is dropped, three attempts for the contradicting failure.
    await receiver.untilReceived(6);
    assert.deepEqual(receiver.statusesOf('REJECTED'), ['00', '00', '00', '06', '06', '06']);
    const times = receiver.requests.map(({ atMs }) => atMs);
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [3, 4],
      [4, 5],
    ] as const) {
      const pauseMs = (times[to] ?? 0) - (times[from] ?? 0);
      assert.ok(pauseMs >= 990 && pauseMs < 10_000, `${pauseMs} ms`);
    }
    assert.equal(new Set(receiver.requests.map(({ headers }) => headers['x-external-id'])).size, 6);
    assert.ok(receiver.requests.every((each) => isSigned(each, partner.settings)));
  });

  it('is not sent again after it is accepted, and no redirect is followed', async (context) => {
    const statuses = [302, 204];
    const { receiver, partner, advance } = await setUp(context, { react: () => statuses.shift() ?? 200 });
    await orderTransfer(partner, 'SECOND-TIME', '7606');
    await advance(7);
    await receiver.untilReceived(3);
    assert.deepEqual(receiver.statusesOf('SECOND-TIME'), ['00', '00', '06']);
    assert.ok(receiver.requests.every(({ path }) => path === '/notify/transfers?from=bank'));
  });

  it('is sent again when there is no response for 5 seconds', async (context) => {
    const { receiver, partner, advance } = await setUp(context, {
      react: () => (receiver.requests.length === 1 ? null : 200),
    });
    await orderTransfer(partner, 'UNANSWERED', '0001');
    const advancedAtMs = Date.now();
    await advance(2);
    await receiver.untilReceived(2);
    // Measured from the advance, because on a busy machine the receiver may see the first attempt late.
    const tookMs = (receiver.requests[1]?.atMs ?? 0) - advancedAtMs;
    assert.ok(tookMs >= 5990 && tookMs < 15_000, `${tookMs} ms`);
  });

  it('does not delay notifications of other transfers', async (context) => {
    const react: Reaction = (request) =>
      fieldsOf(request)['originalPartnerReferenceNo'] === 'UNANSWERED-FIRST' ? null : 200;
    const { receiver, partner, advance } = await setUp(context, { react });
    await orderTransfer(partner, 'UNANSWERED-FIRST', '0001');
    for (let index = 0; index < 40; index += 1) await orderTransfer(partner, `FREE-${index}`, '0001');
    await advance(2);
    await receiver.untilReceived(41);
    // None of them is a second attempt of the unanswered one.
    assert.equal(new Set(receiver.requests.map(({ body }) => body)).size, 41);
  });

  it('does not stop the bank from answering or closing', async (context) => {
    const { receiver, partner, bank, advance } = await setUp(context, { react: () => null });
    for (let index = 0; index < 40; index += 1) await orderTransfer(partner, `T-${index}`, '7602');
    await advance(2);
    // The limit of concurrent notifications.
    await receiver.untilReceived(16);
    assert.equal(await statusOf(partner, 'T-0'), '00');
    const closedAtMs = Date.now();
    await bank.close();
    assert.ok(Date.now() - closedAtMs < timeLimitMs(4000));
    assert.equal(receiver.requests.length, 16);
  });

  it('has no effect on the bank when the receiver is down, for a thousand notifications', async (context) => {
    const warnings: string[] = [];
    const collect = ({ message }: Error): unknown => warnings.push(message);
    process.on('warning', collect);
    context.after(() => process.off('warning', collect));
    const { receiver, partner, advance, bank } = await setUp(context);
    for (let start = 0; start < 1000; start += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => orderTransfer(partner, `T-${start + index}`, '0001')));
    }
    await receiver.close();
    await advance(2);
    assert.equal(await statusOf(partner, 'T-999'), '00');
    await bank.close();
    assert.deepEqual(warnings, []);
  });
});

describe('an advance of the clock', () => {
  it('sends a thousand notifications within seconds', async (context) => {
    const { receiver, partner, advance } = await setUp(context);
    for (let start = 0; start < 1000; start += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => orderTransfer(partner, `T-${start + index}`, '2030')));
    }
    await advance(1800);
    await receiver.untilReceived(1000);
    assert.equal(
      new Set(receiver.requests.map((request) => fieldsOf(request)['originalPartnerReferenceNo'])).size,
      1000,
    );
  });
});
