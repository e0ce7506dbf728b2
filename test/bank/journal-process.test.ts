import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createBankProcesses } from './bank-fleet.ts';
import { fieldsOf, startNotificationReceiver } from './notified-bank.ts';
import { advanceClock, orderTransfer, statusOf } from './transfers.ts';

const fleet = createBankProcesses();
after(() => fleet.endAll());

describe('the process of the bank, killed and started again', () => {
  it('knows every transfer that it had answered, and takes none twice', async () => {
    const journal = fleet.pathOf('answered.ndjson');
    const bank = await fleet.start({ BANK_JOURNAL_FILE: journal });
    const answered: string[] = [];
    const enough = Promise.withResolvers<void>();
    // Orders go on until the bank is dead in the middle of them.
    const ordering = Promise.allSettled(
      Array.from({ length: 8 }, async (_, lane) => {
        for (let index = 0; ; index += 1) {
          await orderTransfer(bank.partner, `LANE-${lane}-${index}`, '2020');
          if (answered.push(`LANE-${lane}-${index}`) === 100) enough.resolve();
        }
      }),
    );
    // Ends at the latest when every order has failed.
    await Promise.race([enough.promise, ordering]);
    await fleet.kill(bank);
    await ordering;
    assert.ok(answered.length >= 100);

    const again = await fleet.start({ BANK_JOURNAL_FILE: journal });
    await advanceClock(again.baseUrl, 20);
    for (const reference of answered) assert.equal(await statusOf(again.partner, reference), '00', reference);
    await assert.rejects(orderTransfer(again.partner, answered[0] ?? '', '2020'), /4091801/);
    await fleet.kill(again);
  });

  it('keeps its pushes, sends what falls due later, and not what fell due meanwhile', async (context) => {
    const receiver = await startNotificationReceiver(context);
    const settings = {
      BANK_JOURNAL_FILE: fleet.pathOf('notified.ndjson'),
      BANK_NOTIFY_URL: receiver.notifyUrl.href,
    };
    const bank = await fleet.start(settings);
    await advanceClock(bank.baseUrl, 60);
    await orderTransfer(bank.partner, 'SENT', '0001');
    await advanceClock(bank.baseUrl, 2);
    await receiver.untilReceived(1);
    await orderTransfer(bank.partner, 'LATER', '2030');
    await orderTransfer(bank.partner, 'MISSED', '0001');
    const orderedAtMs = Date.now();
    await fleet.kill(bank);

    // It falls due while no bank is there: two seconds of real time have to go by.
    while (Date.now() < orderedAtMs + 2000) await new Promise((resolve) => setTimeout(resolve, 50));
    const again = await fleet.start(settings);
    assert.equal(await statusOf(again.partner, 'MISSED'), '00');
    assert.equal(await statusOf(again.partner, 'LATER'), '03');
    assert.equal((await advanceClock(again.baseUrl, 1800)).advanced_seconds, 1862);
    await receiver.untilReceived(2);
    await orderTransfer(again.partner, 'MARKER', '0001');
    await advanceClock(again.baseUrl, 2);
    await receiver.untilReceived(3);
    assert.deepEqual(
      receiver.requests.map((request) => fieldsOf(request)['originalPartnerReferenceNo']),
      ['SENT', 'LATER', 'MARKER'],
    );
    await fleet.kill(again);
  });

  it('without a journal knows nothing of before', async () => {
    const bank = await fleet.start({});
    await orderTransfer(bank.partner, 'FORGOTTEN', '0001');
    await fleet.kill(bank);
    const again = await fleet.start({});
    assert.equal(await statusOf(again.partner, 'FORGOTTEN'), '4043601');
    await fleet.kill(again);
  });
});
