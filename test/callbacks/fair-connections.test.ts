import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { respondWith } from '../support/http-receiver.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { feedSuccesses, openSql, register } from './endpoints-harness.ts';
import { startCallbackReceiver } from './webhook.ts';

const ENDPOINTS = 10;
const SLOTS_PER_ENDPOINT = 32;

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

// Regression: the 64 connections of an origin were shared first come, first served. Ten endpoints that hung, of one
// client, delayed the first callback of another client on the same origin from 0.1 s to 12.3 s.
test("ten hanging endpoints of one client do not delay another client's callback on the same origin", async (context) => {
  const receiver = await startCallbackReceiver(context, (response, request) => {
    if (request.path.startsWith('/beta')) respondWith(200)(response, request);
  });
  const sql = await openSql(service);
  context.after(() => sql.end());
  for (let endpoint = 1; endpoint <= ENDPOINTS; endpoint += 1) {
    await register(service, { url: `${receiver.url}/alpha/${endpoint}` });
  }
  await register(service, { url: `${receiver.url}/beta` }, service.beta.token);

  await feedSuccesses(service, SLOTS_PER_ENDPOINT);
  await eventually('all attempts of alpha are in flight or wait for a connection', async () => {
    const [claimed] = await sql('select count(*)::int as count from tiba.callback_deliveries where attempts = 1');
    return claimed?.['count'] === ENDPOINTS * SLOTS_PER_ENDPOINT;
  });
  await receiver.untilReceived(SLOTS_PER_ENDPOINT);

  const startedMs = performance.now();
  await feedSuccesses(service, 1, { client_id: 'beta' });
  const arrived = (): boolean => receiver.requests.some(({ path }) => path === '/beta');
  await eventually("beta's callback arrives", arrived, 20_000);
  const tookMs = Math.round(performance.now() - startedMs);
  assert.ok(tookMs < timeLimitMs(1_000), `beta's callback took ${tookMs} ms`);
});
