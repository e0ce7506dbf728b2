import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { compressMessages, decompressMessages } from '../../apps/server/src/postgres/status-messages.ts';
import { listStatusUpdates } from '../../apps/server/src/postgres/status-updates.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const rowsOf = (sql: string): Promise<Record<string, unknown>[]> => service.app.database.query(sql);

test('messages that were stored once stay readable', async () => {
  const stored = 'KLUv/SCYvQEA+GFscGhhQjAxUmVrZW5pbmcgdHV0dXAg4oCUIMOpIn0HAMaEDbnlgIgVgifBL47AN+RTDHkFAQ==';
  assert.deepEqual(await decompressMessages(Buffer.from(stored, 'base64')), [
    '{"client_id":"alpha","transaction_id":"TB0000000001","status":"SUCCESS","amount":150000.00}',
    '{"status":"FAILED","failure_reason":"Rekening tutup — é"}',
  ]);
});

test('a single message is stored in less than half of its bytes', async () => {
  const message = JSON.stringify(statusUpdate());
  const compressed = compressMessages([message]);
  assert.ok(compressed.length < message.length / 2, `${compressed.length} of ${message.length} bytes`);
  assert.deepEqual(await decompressMessages(compressed), [message]);
});

test('rows that one compressor has compressed are read one by one', async () => {
  // Longer than what zlib gives out at once, and hardly compressible.
  const long = Array.from({ length: 200 }, () => JSON.stringify({ noise: randomBytes(600).toString('base64') }));
  const rows = [['{"a":1}'], long, ['{"b":\n2}', '{"c":3}'], long.toReversed(), ['{"d":4}']];
  const compressed = rows.map((messages) => compressMessages(messages));
  assert.deepEqual(await Promise.all(compressed.map(decompressMessages)), rows.with(2, ['{"b": 2}', '{"c":3}']));
});

test('the updates of a feed share one row, and what a transaction says itself has no row of its own', async () => {
  const [first, second] = ['SM0000000001', 'SM0000000002'] as const;
  const updates = [first, second].map((id) => statusUpdate({ transaction_id: id, reference_id: id }));
  const ended = { client_id: 'alpha', transaction_id: first, status: 'SUCCESS' };
  assert.equal((await service.feed([...updates, ended])).status, 200);
  assert.deepEqual(await rowsOf('select count(*)::int as rows from tiba.status_messages'), [{ rows: 1 }]);
  assert.deepEqual(await rowsOf('select from tiba.other_status_updates'), []);
  assert.equal((await service.feed({ ...ended, status: 'FAILED', failure_reason: 'Closed' })).status, 200);

  const listed = await listStatusUpdates(service.app.database, { clientId: 'alpha', transactionId: first }, 10);
  assert.deepEqual(
    listed.map(({ outcome, source, raw }) => [outcome, source, JSON.parse(raw ?? '')]),
    [
      ['inserted', 'core', updates[0]],
      ['advanced', 'core', ended],
      ['conflict', 'core', { ...ended, status: 'FAILED', failure_reason: 'Closed' }],
    ],
  );
});

test('an update outlives its message', async () => {
  const id = 'SM0000000003';
  assert.equal((await service.feed(statusUpdate({ transaction_id: id, reference_id: id }))).status, 200);
  await rowsOf('delete from tiba.status_messages');
  const [update] = await listStatusUpdates(service.app.database, { clientId: 'alpha', transactionId: id }, 10);
  assert.deepEqual([update?.outcome, update?.source, update?.raw], ['inserted', null, null]);
});
