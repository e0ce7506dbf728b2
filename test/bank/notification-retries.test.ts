import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { timeLimitMs } from '../support/suite-environment.ts';
import { fieldsOf, isSigned, type Reaction, setUp } from './notified-bank.ts';
import { orderTransfer, statusOf } from './transfers.ts';

// Most of these wait for the bank's own pauses, hence side by side.
describe('a notification that is not taken', { concurrency: true }, () => {
  it('is tried three times, a second apart, signed anew, and then given up', async (context) => {
    const { receiver, partner, push } = await setUp(context, { react: () => 503 });
    await orderTransfer(partner, 'REFUSED', '7606');
    await push(7);
    // Three times the success, and then, the success being given up, three times the contradiction.
    await receiver.untilReceived(6);
    assert.deepEqual(receiver.statusesOf('REFUSED'), ['00', '00', '00', '06', '06', '06']);
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

  it('is not tried again once it is taken, and no redirect is followed', async (context) => {
    const answers = [302, 204];
    const { receiver, partner, push } = await setUp(context, { react: () => answers.shift() ?? 200 });
    await orderTransfer(partner, 'SECOND-TIME', '7606');
    await push(7);
    await receiver.untilReceived(3);
    assert.deepEqual(receiver.statusesOf('SECOND-TIME'), ['00', '00', '06']);
    assert.ok(receiver.requests.every(({ path }) => path === '/notify/transfers?from=bank'));
  });

  it('is tried again when there is no answer for 5 seconds', async (context) => {
    const { receiver, partner, push } = await setUp(context, {
      react: () => (receiver.requests.length === 1 ? null : 200),
    });
    await orderTransfer(partner, 'UNANSWERED', '0001');
    const pushedAtMs = Date.now();
    await push(2);
    await receiver.untilReceived(2);
    // From the push, because a busy machine may show the receiver the first try late.
    const tookMs = (receiver.requests[1]?.atMs ?? 0) - pushedAtMs;
    assert.ok(tookMs >= 5990 && tookMs < 15_000, `${tookMs} ms`);
  });

  it('does not hold up those of other transfers', async (context) => {
    const isFirst: Reaction = (request) => (fieldsOf(request)['originalPartnerReferenceNo'] === 'HANGING' ? null : 200);
    const { receiver, partner, push } = await setUp(context, { react: isFirst });
    await orderTransfer(partner, 'HANGING', '0001');
    for (let index = 0; index < 40; index += 1) await orderTransfer(partner, `FREE-${index}`, '0001');
    await push(2);
    await receiver.untilReceived(41);
    // None of them is a second try of the one that hangs.
    assert.equal(new Set(receiver.requests.map(({ body }) => body)).size, 41);
  });

  it('keeps neither the bank from answering nor from closing', async (context) => {
    const { receiver, partner, bank, push } = await setUp(context, { react: () => null });
    for (let index = 0; index < 40; index += 1) await orderTransfer(partner, `T-${index}`, '7602');
    await push(2);
    // As many as go out at once.
    await receiver.untilReceived(16);
    assert.equal(await statusOf(partner, 'T-0'), '00');
    const closedAtMs = Date.now();
    await bank.close();
    assert.ok(Date.now() - closedAtMs < timeLimitMs(4000));
    assert.equal(receiver.requests.length, 16);
  });

  it('does no harm when nobody listens, a thousand times', async (context) => {
    const warnings: string[] = [];
    const collect = ({ message }: Error): unknown => warnings.push(message);
    process.on('warning', collect);
    context.after(() => process.off('warning', collect));
    const { receiver, partner, push, bank } = await setUp(context);
    for (let start = 0; start < 1000; start += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => orderTransfer(partner, `T-${start + index}`, '0001')));
    }
    await receiver.close();
    await push(2);
    assert.equal(await statusOf(partner, 'T-999'), '00');
    await bank.close();
    assert.deepEqual(warnings, []);
  });
});

describe('a push of the clock', () => {
  it('sends a thousand notifications within seconds', async (context) => {
    const { receiver, partner, push } = await setUp(context);
    for (let start = 0; start < 1000; start += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => orderTransfer(partner, `T-${start + index}`, '2030')));
    }
    await push(1800);
    await receiver.untilReceived(1000);
    assert.equal(
      new Set(receiver.requests.map((request) => fieldsOf(request)['originalPartnerReferenceNo'])).size,
      1000,
    );
  });
});
