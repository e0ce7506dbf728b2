import assert from 'node:assert/strict';
import { it } from 'node:test';
import { answerStatus } from '../rails/scripted-bank.ts';
import { later, SECOND_MS, START, startBenchWithBank } from './harness.ts';

const { keys, bank, bench } = await startBenchWithBank(answerStatus('00'));

it('a status inquiry about a transfer by RTGS names its service, also when the core adds it later', async () => {
  const { inquiries, transactionUpdater } = bench.startProcess({ rails: [bank.rail(keys)] });
  await bench.insertTransactions(['TRX000001', 'TRX000002'], START);
  const update = { clientId: 'alpha', transactionId: 'TRX000001', status: 'PROCESS', serviceCode: '22' } as const;
  await transactionUpdater.apply([{ line: 1, raw: '{}', update, source: 'core' }], START);
  await inquiries.poll(later(10 * SECOND_MS));
  const services = bank.statusInquiries.map(
    ({ fields }) => [fields['originalPartnerReferenceNo'], fields['serviceCode']] as const,
  );
  assert.deepEqual(Object.fromEntries(services), { TRX000001: '22', TRX000002: '18' });
});
