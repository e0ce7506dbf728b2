import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { createBankProcesses } from './bank-process.ts';
import { fieldsOf, startNotificationReceiver } from './notified-bank.ts';
import { advanceClock, orderTransfer, statusOf } from './transfers.ts';

const banks = createBankProcesses();
after(() => banks.killAll());

describe('a bank process that is killed and restarted', () => {
  it('retains every accepted transfer, and rejects its reference as a duplicate', async () => {
    const journal = banks.pathOf('accepted.ndjson');
    const bank = await banks.start({ BANK_JOURNAL_FILE: journal });
    const accepted: string[] = [];
    const enough = Promise.withResolvers<void>();
    // Orders continue until the bank is killed while it handles them.
    const ordering = Promise.allSettled(
      Array.from({ length: 8 }, async (_, lane) => {
        for (let index = 0; ; index += 1) {
          await orderTransfer(bank.partner, `LANE-${lane}-${index}`, '2020');
          if (accepted.push(`LANE-${lane}-${index}`) === 100) enough.resolve();
        }
      }),
    );
    // Resolves at the latest when every order has failed.
    await Promise.race([enough.promise, ordering]);
    await banks.kill(bank);
    await ordering;
    assert.ok(accepted.length >= 100);

    const restarted = await banks.start({ BANK_JOURNAL_FILE: journal });
    await advanceClock(restarted.baseUrl, 20);
    for (const reference of accepted) assert.equal(await statusOf(restarted.partner, reference), '00', reference);
    await assert.rejects(orderTransfer(restarted.partner, accepted[0] ?? '', '2020'), /4091801/);
    await banks.kill(restarted);
  });

  it('restores its clock, sends notifications due after the restart, and none that became due while it was down', async (context) => {
    const receiver = await startNotificationReceiver(context);
    const settings = {
      BANK_JOURNAL_FILE: banks.pathOf('notified.ndjson'),
      BANK_NOTIFY_URL: receiver.notifyUrl.href,
    };
    const bank = await banks.start(settings);
    await advanceClock(bank.baseUrl, 60);
    await orderTransfer(bank.partner, 'SENT', '0001');
    await advanceClock(bank.baseUrl, 2);
    await receiver.untilReceived(1);
    await orderTransfer(bank.partner, 'LATER', '2030');
    await orderTransfer(bank.partner, 'MISSED', '0001');
    const orderedAtMs = Date.now();
    await banks.kill(bank);

    // The notification becomes due while no bank runs: two seconds of real time have to pass.
    await eventually('the notification is due', () => Date.now() >= orderedAtMs + 2000);
    const restarted = await banks.start(settings);
    assert.equal(await statusOf(restarted.partner, 'MISSED'), '00');
    assert.equal(await statusOf(restarted.partner, 'LATER'), '03');
    assert.equal((await advanceClock(restarted.baseUrl, 1800)).advanced_seconds, 1862);
    await receiver.untilReceived(2);
    await orderTransfer(restarted.partner, 'MARKER', '0001');
    await advanceClock(restarted.baseUrl, 2);
    await receiver.untilReceived(3);
    assert.deepEqual(
      receiver.requests.map((request) => fieldsOf(request)['originalPartnerReferenceNo']),
      ['SENT', 'LATER', 'MARKER'],
    );
    await banks.kill(restarted);
  });

  it('retains no transfers without a journal', async () => {
    const bank = await banks.start({});
    await orderTransfer(bank.partner, 'FORGOTTEN', '0001');
    await banks.kill(bank);
    const restarted = await banks.start({});
    assert.equal(await statusOf(restarted.partner, 'FORGOTTEN'), '4043601');
    await banks.kill(restarted);
  });
});
