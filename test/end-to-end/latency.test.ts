import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { register } from '../callbacks/endpoints-harness.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { until } from './history.ts';

let service: TestService;
let receiver: HttpReceiver;
before(async () => {
  receiver = await startHttpReceiver();
  service = await startTestService({ rails: [] });
});
after(async () => {
  await service?.close();
  await receiver?.close();
});

const EVENTS = 6;
/** Half of the interval at which the dispatcher polls for deliveries that no notification named. */
const PROMPT_MAX_MS = 500;

test('a callback is sent at once after its event, without waiting for the next poll', async () => {
  await register(service, { url: receiver.url });
  const durations: number[] = [];
  for (let count = 0; count < EVENTS; count += 1) {
    const transactionId = `TP${String(count).padStart(8, '0')}`;
    const startedMs = performance.now();
    await service.feed(statusUpdate({ transaction_id: transactionId, reference_id: transactionId, status: 'SUCCESS' }));
    await until('the callback has arrived', () => receiver.requests.length > count);
    durations.push(performance.now() - startedMs);
  }
  // With polling alone, each callback after the first would take about a second. A single slow one proves nothing.
  assert.ok(Math.min(...durations.slice(1)) < PROMPT_MAX_MS, `they took ${durations.map(Math.round).join(', ')} ms`);
});
