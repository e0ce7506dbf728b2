import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BANK_KINDS } from '../../apps/server/src/domain/event.ts';
import { register } from '../callbacks/endpoints-harness.ts';
import { startCallbackReceiver, verified, webhookId } from '../callbacks/webhook.ts';
import { namesOf, openDatabase, startCheckingService, startStoppableBank } from './stoppable-bank.ts';

/** The events bank.down and bank.up: which clients receive them, and what they say. */

test('a bank that goes down, fails its trials and recovers causes two signed events, in order', async (context) => {
  const database = await openDatabase(context);
  const bank = await startStoppableBank(context);
  const {
    service,
    token,
    check,
    events: eventsOf,
    untilEvents,
    checkUntil,
  } = await startCheckingService(context, database, bank);
  const [receiver, other] = [await startCallbackReceiver(context), await startCallbackReceiver(context)];
  const { secret } = await register(service, { url: receiver.callbackUrl, kinds: BANK_KINDS }, token);
  await register(service, { url: other.callbackUrl }, token);
  const unconcerned = await service.addClient('unconcerned', ['status:read', 'events:read']);
  await service.addClient('former', ['account:check', 'events:read']);
  const { query } = service.app.database;
  await query(`update tiba.clients set disabled_at = now() where client_id = 'former'`);

  await check();
  bank.isStopped = true;
  await untilEvents(1);
  const inquiries = bank.inquiryCount();
  await checkUntil('three more failed inquiries', () => bank.inquiryCount() >= inquiries + 3);
  bank.isStopped = false;
  const events = await untilEvents(2);
  assert.deepEqual(namesOf(events), [
    ['evt_CENAIDJA_1', 'bank.down'],
    ['evt_CENAIDJA_2', 'bank.up'],
  ]);

  const callbacks = await receiver.untilReceived(2);
  assert.deepEqual(callbacks.map(webhookId).toSorted(), ['evt_CENAIDJA_1', 'evt_CENAIDJA_2']);
  for (const callback of callbacks) {
    const version = Number(webhookId(callback).at(-1));
    const { timestamp, ...payload } = verified(secret, callback);
    assert.match(String(timestamp), /Z$/);
    const status = version === 1 ? 'DOWN' : 'UP';
    const data = events[version - 1]?.data ?? {};
    assert.deepEqual(payload, { type: `bank.${status.toLowerCase()}`, version, data });
    const { since, ...rest } = data;
    assert.match(String(since), /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.deepEqual(rest, { bank_code: '014', bic: 'CENAIDJA', bank_name: 'Bank Central Asia', status });
  }
  assert.deepEqual(namesOf(await eventsOf(service.beta.token)), namesOf(events));
  assert.deepEqual(await eventsOf(unconcerned.token), []);
  assert.deepEqual(await query(`select from tiba.events where client_id = 'former'`), []);
  assert.deepEqual(other.requests, [], 'an endpoint without kinds receives events of disbursements only');
});

/** Regression: how long a bank is down was measured on the wall clock: a jump back delayed the event by the jump. */
test('a bank that goes down while the wall clock of the process is wrong causes its event', async (context) => {
  const database = await openDatabase(context);
  const bank = await startStoppableBank(context);
  const { check, untilEvents } = await startCheckingService(context, database, bank);
  await check();
  context.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  bank.isStopped = true;
  const events = await untilEvents(1);
  assert.deepEqual(namesOf(events), [['evt_CENAIDJA_1', 'bank.down']]);
});
