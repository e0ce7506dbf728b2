import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FAILURE_REASONS, type FailureReason, publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createIds, only, reportOf, statusOf, statusUpdatesOf } from './harness.ts';

let service: TestService;
const newId = createIds('TZ');

before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const CODES = Object.keys(FAILURE_REASONS) as FailureReason[];
const ENDED = { status: 'FAILED', processed_at: '2026-11-21T04:40:00.500Z' };

async function shownFor(reason: string): Promise<unknown> {
  const id = newId();
  const update = statusUpdate({ transaction_id: id, reference_id: id, ...ENDED, failure_reason: reason });
  assert.deepEqual(reportOf(await service.feed(update)), only({ inserted: 1 }));
  const [record] = await statusUpdatesOf(service, id);
  assert.equal((JSON.parse(record?.raw ?? '') as Record<string, unknown>)['failure_reason'], reason);
  return (JSON.parse(await statusOf(service, id)) as Record<string, unknown>)['failure_reason'];
}

test('each published code is shown as its whole text, whether the feed gave the code or the text', async () => {
  for (const code of CODES) {
    assert.equal(await shownFor(code), publishedReason(code));
    assert.equal(await shownFor(publishedReason(code)), publishedReason(code));
  }
});

test("the core's own text is stored in the status update record, and clients see OTHER", async () => {
  const own = [
    'Rekening ditutup',
    'account_not_found',
    ' ACCOUNT_NOT_FOUND',
    'ACCOUNT_NOT_FOUND:',
    'ACCOUNT_NOT_FOUND: Account 1234567890 of BUDI SANTOSO does not exist.',
    'toString',
    '__proto__',
    ':',
  ];
  for (const text of own) assert.equal(await shownFor(text), publishedReason('OTHER'));
});

test('a code and its text are the same reason, and the first reason that was given stays', async () => {
  const id = newId();
  const later = (reason: string) => ({ client_id: 'alpha', transaction_id: id, ...ENDED, failure_reason: reason });
  await service.feed(statusUpdate({ transaction_id: id, reference_id: id }));
  const report = reportOf(
    await service.feed([later('CUT_OFF'), later(publishedReason('CUT_OFF')), later('BANK_UNAVAILABLE')]),
  );
  assert.deepEqual([report.advanced, report.unchanged, report.conflicts.length], [1, 2, 0]);
  const answer = await service.get(`/api/v1/check-status/${id}`);
  assert.equal(answer.json.data?.['failure_reason'], publishedReason('CUT_OFF'));
});
