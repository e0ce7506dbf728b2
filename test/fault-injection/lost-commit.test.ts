import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusUpdate } from '../support/service.ts';
import { assertUnavailable, timeRequest } from './request-monitor.ts';
import { startServiceBehindProxy } from './service-on-postgres.ts';

const { server, service, proxy } = await startServiceBehindProxy();

const stored = () =>
  server.query<{ status: string; transactions: number; updates: number }>(
    `select status, count(distinct transaction_id)::integer as transactions, count(*)::integer as updates
       from tiba.transactions join tiba.status_updates using (client_id, transaction_id)
      where source <> 'clock' and starts_with(transaction_id, 'TC') group by 1`,
  );

test('the reply to COMMIT is lost: the feed gets 503, and feeding again stores each transaction once', async () => {
  const count = 700;
  const lines = Array.from({ length: count }, (_, index) => {
    const id = `TC${String(index).padStart(10, '0')}`;
    return [
      statusUpdate({ transaction_id: id, reference_id: id }),
      { client_id: 'alpha', transaction_id: id, status: 'SUCCESS', processed_at: '2026-11-21T04:40:00.000Z' },
    ]
      .map((each) => JSON.stringify(each))
      .join('\n');
  }).join('\n');

  proxy.dropsCommitReplies = true;
  const lost = await timeRequest(() => service.feed(lines));
  assertUnavailable(lost);
  assert.match(lost.answer.json.message, /\(stored so far: 0 inserted, 0 advanced.*\): send the whole feed again/);
  assert.equal(proxy.droppedReplies(), 1);
  const [unacknowledged] = await stored();
  assert.equal(unacknowledged?.transactions, 250, 'the first batch was stored, and the service did not learn of it');

  proxy.dropsCommitReplies = false;
  const again = await service.feed(lines);
  assert.equal(again.status, 200, again.text);
  assert.deepEqual(again.json.data, {
    inserted: count - 250,
    advanced: count - 250,
    unchanged: 500,
    conflicts: [],
    rejected: [],
    unlisted: 0,
  });
  // The updates of the first batch were sent twice, and are stored twice.
  assert.deepEqual(await stored(), [{ status: 'SUCCESS', transactions: count, updates: 2 * count + 500 }]);
});
