import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { StatusInquiryRail } from '../../apps/server/src/status-inquiry/in-flight.ts';
import { answer, answerStatus, type BankAnswer } from '../rails/scripted-bank.ts';
import { HOUR_MS, idsOf, later, MINUTE_MS, SECOND_MS, START, startBenchWithBank, transactionsIn } from './harness.ts';

const FAILURES: Readonly<Record<string, BankAnswer>> = {
  'answers 503': (_request, response) => answer(response, 503, '<html>Service Unavailable</html>'),
  'answers with an unknown status': answerStatus('99'),
};
let script: BankAnswer = answerStatus('03');
const { keys, bank, bench } = await startBenchWithBank((request, response) => script(request, response));

suite('a failing bank', () => {
  for (const [index, [name, failure]] of Object.entries(FAILURES).entries()) {
    test(`that ${name} gets less than a tenth of the inquiries, and all of them once it has recovered`, async () => {
      const rail = `bank-${index}`;
      const ids = idsOf(`T${'ABCD'[index]}`, 200);
      script = failure;
      await bench.insertTransactions(ids, START, rail);
      const { inquiries } = bench.startProcess({ rails: [bank.rail(keys, { name: rail })] });
      const before = bank.statusInquiries.length;
      let now = START;
      for (; now < later(10 * MINUTE_MS); now = later(2 * SECOND_MS, now)) await inquiries.poll(now);
      const count = bank.statusInquiries.length - before;
      // Without failures there would be seven inquiries about each.
      assert.ok(count >= 40 && count < 120, `${count} inquiries in ten minutes of failures`);

      script = answerStatus('00');
      for (; now < later(25 * MINUTE_MS); now = later(5 * SECOND_MS, now)) await inquiries.poll(now);
      const transactions = await transactionsIn(bench.database);
      assert.deepEqual(new Set(ids.map((id) => transactions.get(id)?.status)), new Set(['SUCCESS']));
      await bench.database.query('delete from tiba.status_inquiries');
    });
  }

  test('does not delay inquiries at other banks', async () => {
    script = (request, response) =>
      request.headers['x-partner-id'] === 'SILENT' ? undefined : answerStatus('00')(request, response);
    const [silent, healthy] = [idsOf('TX', 40), idsOf('TY', 40)];
    await bench.insertTransactions(silent, START, 'silent');
    await bench.insertTransactions(healthy, START, 'healthy');
    const { inquiries, close } = bench.startProcess({
      rails: [bank.rail(keys, { name: 'silent', partnerId: 'SILENT' }), bank.rail(keys, { name: 'healthy' })],
    });
    let done = false;
    const polled = inquiries.poll(later(6 * SECOND_MS)).then(() => (done = true));
    for (;;) {
      const transactions = await transactionsIn(bench.database);
      if (healthy.every((id) => transactions.get(id)?.status === 'SUCCESS')) break;
      assert.equal(done, false, 'the poll waited for the silent bank first');
    }
    assert.equal(done, false);
    await close();
    await polled;
  });

  test('gets few inquiries from readers too', async () => {
    const ids = idsOf('TZ', 60);
    script = FAILURES['answers 503'] ?? assert.fail();
    let now = START;
    await bench.insertTransactions(ids, now, 'read');
    const { inquiries } = bench.startProcess({ rails: [bank.rail(keys, { name: 'read' })] });
    const before = bank.statusInquiries.length;
    for (; now < later(3 * MINUTE_MS); now = later(SECOND_MS, now)) {
      await bench.setTime(now);
      await Promise.all(ids.map((id) => inquiries.refresh('alpha', id, 'read')));
    }
    const count = bank.statusInquiries.length - before;
    assert.ok(count < 120, `${count} inquiries`);
  });

  test('that always fails on one transfer gets inquiries about it at growing intervals', async () => {
    const [id = ''] = idsOf('TQ', 1);
    script = answerStatus('99');
    await bench.insertTransactions([id], START, 'poisoned');
    const { inquiries } = bench.startProcess({ rails: [bank.rail(keys, { name: 'poisoned' })] });
    const before = bank.statusInquiries.length;
    for (let now = START; now < later(48 * HOUR_MS); now = later(5 * MINUTE_MS, now)) await inquiries.poll(now);
    const count = bank.statusInquiries.length - before;
    assert.ok(count > 20 && count < 150, `${count} inquiries in two days`);
    assert.equal((await transactionsIn(bench.database)).get(id)?.status, 'PROCESS');
  });

  /** Regression: the error of our own was counted as `rejected_by_bank`, and as an answer of the bank. */
  test('is not blamed for an error of the service: it counts as internal_error, and inquiries continue', async () => {
    const [first = '', second = ''] = idsOf('TI', 2);
    await bench.insertTransactions([first, second], START, 'defective');
    const inquireStatus: StatusInquiryRail['inquireStatus'] = async ({ reference }) => {
      if (reference === first) throw new Error('a defect');
      return { kind: 'status', status: 'SUCCESS', railCode: '00' };
    };
    const { inquiries, logged, metrics } = bench.startProcess({
      rails: [{ ...bank.rail(keys, { name: 'defective' }), inquireStatus }],
    });
    await inquiries.poll(later(6 * SECOND_MS));
    const transactions = await transactionsIn(bench.database);
    assert.deepEqual(
      [first, second].map((id) => transactions.get(id)?.status),
      ['PROCESS', 'SUCCESS'],
    );
    const rendered = await metrics.render();
    assert.match(rendered, /tiba_status_inquiries_total\{rail="defective",outcome="internal_error"\} 1/);
    assert.doesNotMatch(rendered, /rejected_by_bank/);
    assert.deepEqual(
      logged.map(({ msg }) => msg),
      ['status inquiry could not be made; will retry as scheduled'],
    );
  });
});
