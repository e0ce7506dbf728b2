import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { startCallbackReceiver, verified, webhookId } from './webhook.ts';

/** From the feed to the client's receiver, through the whole service. */

const KINDS = ['disbursement.succeeded', 'disbursement.failed', 'disbursement.overdue', 'disbursement.reversed'];
const seal = createSeal(Buffer.alloc(32, 7));
const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

async function addEndpoint(url: string, secret: string): Promise<string> {
  const endpointId = `ep_${randomBytes(6).toString('hex')}`;
  await service.app.database.query(
    `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
     values ('alpha', $1, $2, $3, $4)`,
    [endpointId, url, KINDS, seal.seal(secret)],
  );
  return endpointId;
}

let created = 0;
function newId(): string {
  created += 1;
  return `TC${String(created).padStart(10, '0')}`;
}

/** Recent: a transaction that is overdue already would cause another event between two updates. */
const CREATED_AT = new Date().toISOString();

async function feedUpdates(...updates: readonly Record<string, unknown>[]): Promise<void> {
  const answer = await service.feed(
    updates.map((each) => JSON.stringify(statusUpdate({ created_at: CREATED_AT, ...each }))).join('\n'),
  );
  assert.equal(answer.status, 200, answer.text);
}

test('a change is delivered at once, signed, with the data of a status check byte for byte', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const secret = newSecret();
  await addEndpoint(receiver.callbackUrl, secret);
  const id = newId();
  // An amount that a JSON parser would round, and text that JSON can write in several ways.
  const fields = { transaction_id: id, reference_id: 'ü/"\\\u2028 1', amount: '90071992547409931.07' };
  await feedUpdates(fields);
  await feedUpdates({ ...fields, status: 'SUCCESS', processed_at: '2026-11-21T04:40:00.000Z' });

  const [callback] = await receiver.untilReceived(1);
  assert.ok(callback !== undefined);
  assert.equal(webhookId(callback), `evt_${id}_2`);
  assert.equal(callback.headers['content-type'], 'application/json');
  assert.equal(callback.headers['user-agent'], 'Tiba');
  assert.ok(Math.abs(Number(callback.headers['webhook-timestamp']) - Date.now() / 1000) < 60);
  const payload = verified(secret, callback);
  assert.deepEqual(Object.keys(payload), ['type', 'timestamp', 'version', 'data']);
  assert.equal(payload['type'], 'disbursement.succeeded');
  assert.equal(payload['version'], 2);
  assert.ok(Math.abs(Date.parse(String(payload['timestamp'])) - Date.now()) < 60_000);

  const { text } = await service.get(`/api/v1/check-status/${id}`);
  const data = /"data":(\{.*?\}),"meta"/s.exec(text)?.[1];
  assert.ok(data?.includes('90071992547409931.07'));
  assert.ok(callback.body.endsWith(`,"data":${data}}`), callback.body);
});

test('each change of a transaction has its own callback with its own id and version', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const secret = newSecret();
  await addEndpoint(receiver.callbackUrl, secret);
  const id = newId();
  const fields = { transaction_id: id, reference_id: id };
  await feedUpdates({ ...fields, status: 'SUCCESS', processed_at: '2026-11-21T04:40:00.000Z' });
  await feedUpdates({ ...fields, status: 'SUCCESS', reversed_at: '2026-11-21T05:00:00.000Z' });
  const callbacks = await receiver.untilReceived(2);
  assert.deepEqual(
    // Callbacks may overtake each other; the version says which one is newer.
    new Map(callbacks.map((each) => [webhookId(each), verified(secret, each)['type']])),
    new Map([
      [`evt_${id}_1`, 'disbursement.succeeded'],
      [`evt_${id}_2`, 'disbursement.reversed'],
    ]),
  );
});

test('after a rotation both secrets sign until the former one expires', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const [former, secret] = [newSecret(), newSecret()];
  const endpointId = await addEndpoint(receiver.callbackUrl, secret);
  const rotatedUntil = (until: string): Promise<unknown> =>
    service.app.database.query(
      `update tiba.callback_endpoints
          set former_secret_sealed = $2, former_secret_until = now() + $3::interval where endpoint_id = $1`,
      [endpointId, seal.seal(former), until],
    );
  await rotatedUntil('1 hour');
  const success = (id: string): Record<string, unknown> => ({
    transaction_id: id,
    reference_id: id,
    status: 'SUCCESS',
    processed_at: '2026-11-21T04:40:00.000Z',
  });
  await feedUpdates(success(newId()));
  const [both] = await receiver.untilReceived(1);
  assert.ok(both !== undefined);
  assert.equal(String(both.headers['webhook-signature']).split(' ').length, 2);
  verified(former, both);
  verified(secret, both);

  await rotatedUntil('-1 second');
  await feedUpdates(success(newId()));
  const [, one] = await receiver.untilReceived(2);
  assert.ok(one !== undefined);
  verified(secret, one);
  assert.throws(() => verified(former, one));
});

test('a metric counts attempts by their outcome', async (context) => {
  const receiver = await startCallbackReceiver(context);
  await addEndpoint(receiver.callbackUrl, newSecret());
  const id = newId();
  await feedUpdates({ transaction_id: id, reference_id: id, status: 'FAILED', failure_reason: 'ACCOUNT_CLOSED' });
  await receiver.untilReceived(1);
  await eventually('the metric', async () => {
    const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
    return /tiba_callback_attempts_total\{kind="disbursement\.failed",outcome="delivered"\} [1-9]/.test(metrics);
  });
});
