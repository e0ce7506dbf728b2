import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { answer, answerStatus, type BankAnswer, type ScriptedBank, startScriptedBank } from '../rails/scripted-bank.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';
import {
  HOUR_MS,
  type InquiryBench,
  idsOf,
  later,
  MINUTE_MS,
  SECOND_MS,
  START,
  startInquiryBench,
  transactionsIn,
} from './harness.ts';

suite('a bank in trouble', () => {
  const FAILURES: Readonly<Record<string, BankAnswer>> = {
    'says that it cannot': (_request, response) => answer(response, 503, '<html>Service Unavailable</html>'),
    'answers nonsense': answerStatus('99'),
  };
  let keys: RsaKeys;
  let bank: ScriptedBank;
  let bench: InquiryBench;
  let script: BankAnswer;
  before(async () => {
    keys = rsaKeys();
    bank = await startScriptedBank({ status: (request, response) => script(request, response) });
    bench = await startInquiryBench();
  });
  after(async () => {
    await bench?.close();
    await bank?.close();
  });

  for (const [index, [name, failure]] of Object.entries(FAILURES).entries()) {
    test(`that ${name} gets less than a tenth of the questions, and all of them once it is well again`, async () => {
      const rail = `bank-${index}`;
      const ids = idsOf(`T${'ABCD'[index]}`, 200);
      script = failure;
      await bench.insertTransactions(ids, START, rail);
      const { inquiries } = bench.startProcess({ rails: [bank.rail(keys, { name: rail })] });
      const begun = bank.statusInquiries.length;
      let now = START;
      for (; now < later(10 * MINUTE_MS); now = later(2 * SECOND_MS, now)) await inquiries.poll(now);
      const asked = bank.statusInquiries.length - begun;
      // Each would have been asked about seven times.
      assert.ok(asked >= 40 && asked < 120, `${asked} questions in ten minutes of trouble`);

      script = answerStatus('00');
      for (; now < later(25 * MINUTE_MS); now = later(5 * SECOND_MS, now)) await inquiries.poll(now);
      const transactions = await transactionsIn(bench.database);
      assert.deepEqual(new Set(ids.map((id) => transactions.get(id)?.status)), new Set(['SUCCESS']));
      await bench.database.query('delete from tiba.status_inquiries');
    });
  }

  test('does not keep the others waiting', async () => {
    script = (request, response) =>
      request.headers['x-partner-id'] === 'SILENT' ? undefined : answerStatus('00')(request, response);
    const [silent, well] = [idsOf('TX', 40), idsOf('TY', 40)];
    await bench.insertTransactions(silent, START, 'silent');
    await bench.insertTransactions(well, START, 'well');
    const { inquiries } = bench.startProcess({
      rails: [bank.rail(keys, { name: 'silent', partnerId: 'SILENT' }), bank.rail(keys, { name: 'well' })],
    });
    let done = false;
    const asked = inquiries.poll(later(6 * SECOND_MS)).then(() => (done = true));
    for (;;) {
      const transactions = await transactionsIn(bench.database);
      if (well.every((id) => transactions.get(id)?.status === 'SUCCESS')) break;
      assert.equal(done, false, 'the silent bank was waited for first');
    }
    assert.equal(done, false);
    await asked;
  });

  test('is not asked by readers either', async () => {
    const ids = idsOf('TZ', 60);
    script = FAILURES['says that it cannot'] ?? assert.fail();
    let now = START;
    await bench.insertTransactions(ids, now, 'read');
    const { inquiries } = bench.startProcess({ rails: [bank.rail(keys, { name: 'read' })], now: () => now });
    const begun = bank.statusInquiries.length;
    for (; now < later(3 * MINUTE_MS); now = later(SECOND_MS, now)) {
      await Promise.all(ids.map((id) => inquiries.refresh('alpha', id)));
    }
    const asked = bank.statusInquiries.length - begun;
    assert.ok(asked < 120, `${asked} questions`);
  });

  test('that fails on one transfer for ever is asked about it ever more rarely', async () => {
    const [id = ''] = idsOf('TQ', 1);
    script = answerStatus('99');
    await bench.insertTransactions([id], START, 'poisoned');
    const { inquiries } = bench.startProcess({ rails: [bank.rail(keys, { name: 'poisoned' })] });
    const begun = bank.statusInquiries.length;
    for (let now = START; now < later(48 * HOUR_MS); now = later(5 * MINUTE_MS, now)) await inquiries.poll(now);
    const asked = bank.statusInquiries.length - begun;
    assert.ok(asked > 20 && asked < 150, `${asked} questions in two days`);
    assert.equal((await transactionsIn(bench.database)).get(id)?.status, 'PROCESS');
  });
});
