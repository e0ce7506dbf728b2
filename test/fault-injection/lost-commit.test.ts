import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { dataOf, validationsOf } from '../account-validations/validations.ts';
import { EVENTS, register } from '../callbacks/endpoints-harness.ts';
import { startCallbackReceiver, webhookId } from '../callbacks/webhook.ts';
import { answerActive, startScriptedBank } from '../rails/scripted-bank.ts';
import { eventually } from '../support/eventually.ts';
import { statusUpdate } from '../support/requests.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { assertUnavailable, timeRequest } from './request-monitor.ts';
import { startServiceBehindProxy } from './service-on-postgres.ts';

/** PostgreSQL commits, and its reply is lost with the connection: the service cannot know that the change is stored. */

let answersReleased = Promise.withResolvers<void>();
const bank = await startScriptedBank({
  async inquiry(request, response) {
    await answersReleased.promise;
    await answerActive(request, response);
  },
});
after(() => bank.close());
const { server, service, proxy } = await startServiceBehindProxy({ service: { rails: [bank.rail(rsaKeys())] } });

/** Until replies to this statement were lost `times` times, from now on. */
async function untilRepliesLost(statement: string, times: number): Promise<void> {
  const before = proxy.droppedReplies();
  proxy.dropsRepliesTo = statement;
  await eventually('replies are lost', () => proxy.droppedReplies() - before >= times);
  proxy.dropsRepliesTo = null;
}

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

  proxy.dropsRepliesTo = 'commit';
  const lost = await timeRequest(() => service.feed(lines));
  assertUnavailable(lost);
  assert.match(lost.answer.json.message, /\(stored so far: 0 inserted, 0 advanced.*\)\. Send the whole feed again/);
  const [unacknowledged] = await stored();
  assert.equal(unacknowledged?.transactions, 500, 'the first batch was stored, and the service did not learn of it');

  proxy.dropsRepliesTo = null;
  const again = await service.feed(lines);
  assert.equal(again.status, 200, again.text);
  assert.deepEqual(again.json.data, {
    inserted: count - 500,
    advanced: count - 500,
    unchanged: 1_000,
    conflicts: [],
    rejected: [],
    differences: [],
    unlisted: 0,
    restored_at: null,
    restored_to: null,
  });
  // The updates of the first batch were sent twice, and are stored twice.
  assert.deepEqual(await stored(), [{ status: 'SUCCESS', transactions: count, updates: 2 * count + 1_000 }]);
});

test('of a disbursement whose COMMIT was unknown there is one event and one callback', async (context) => {
  const receiver = await startCallbackReceiver(context);
  await register(service, { url: receiver.callbackUrl });
  const succeed = (id: string) =>
    service.feed(statusUpdate({ transaction_id: id, reference_id: id, status: 'SUCCESS' }));
  proxy.dropsRepliesTo = 'commit';
  assertUnavailable(await timeRequest(() => succeed('TD0000000001')));
  proxy.dropsRepliesTo = null;
  assert.equal((await succeed('TD0000000001')).json.data?.['unchanged'], 1);
  await succeed('TD0000000002');
  // Events are sent in the order of their sequence, so a second callback of the first would have arrived too.
  await receiver.untilReceived(2);
  assert.deepEqual(receiver.requests.map(webhookId).sort(), ['evt_TD0000000001_1', 'evt_TD0000000002_1']);
});

test('the reply to the recording of a callback is lost: its attempt is recorded once, and not sent again', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const { endpointId } = await register(service, { url: receiver.callbackUrl });
  const lost = untilRepliesLost('record-callback-results', 2);
  await service.feed(statusUpdate({ transaction_id: 'TD0000000003', reference_id: 'TD3', status: 'SUCCESS' }));
  await lost;
  const recorded = () =>
    server.query<{ state: string; attempt: number }>(
      `select d.state, a.attempt from tiba.callback_deliveries d
         join tiba.callback_attempts a using (client_id, endpoint_id, sequence) where endpoint_id = $1`,
      [endpointId],
    );
  assert.deepEqual(await recorded(), [{ state: 'delivered', attempt: 1 }]);
  await service.feed(statusUpdate({ transaction_id: 'TD0000000004', reference_id: 'TD4', status: 'SUCCESS' }));
  await eventually('the next callback is recorded', async () => (await recorded()).length === 2);
  assert.deepEqual(receiver.requests.map(webhookId), ['evt_TD0000000003_1', 'evt_TD0000000004_1']);
});

test('a bulk validation whose COMMIT was unknown is stored once: its Idempotency-Key finds it', async () => {
  const validations = validationsOf(service);
  const send = () =>
    validations.sendRows([{ bank_code: 'BRI', account_number: '5550001111' }], { 'idempotency-key': 'lost' });
  answersReleased.resolve();
  proxy.dropsRepliesTo = 'commit';
  assertUnavailable(await timeRequest(send));
  proxy.dropsRepliesTo = null;
  const again = await send();
  assert.ok(again.status < 300, again.text);
  await validations.untilEnded(String(again.json.data?.['validation_id']));
  assert.deepEqual(await server.query('select row_count from tiba.account_validations'), [{ row_count: 1 }]);
});

test('the reply to the COMMIT of results is lost: each row has one result, and the end of the validation is one event', async () => {
  answersReleased = Promise.withResolvers();
  const client = await service.addClient('validating', ['account:check', 'events:read']);
  const validations = validationsOf(service, client);
  const before = bank.inquiries.length;
  const rows = Array.from({ length: 10 }, (_, index) => ({
    bank_code: 'BRI',
    account_number: String(5_550_000_000 + index * 7_919),
  }));
  const id = await validations.create(rows);
  await eventually('all rows are in flight', () => bank.inquiries.length - before === rows.length);
  answersReleased.resolve();
  await untilRepliesLost('commit', 2);
  const { counts } = await validations.untilEnded(id);
  assert.equal(counts['active'], rows.length);
  assert.deepEqual(
    (await validations.results(id)).map(({ row }) => row).sort((one, other) => one - other),
    rows.map((_, index) => index + 1),
  );
  const { events } = dataOf<{ events: unknown[] }>(await service.get(EVENTS, { token: client.token }));
  assert.equal(events.length, 1);
  assert.equal(bank.inquiries.length - before, rows.length, 'no account was inquired about again');
});
