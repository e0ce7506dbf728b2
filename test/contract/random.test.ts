import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { HTTP_STATUSES } from './assertions.ts';
import { createFastClient, type FastClient } from './fast-client.ts';
import { type RandomRequest, randomRequests } from './random-requests.ts';

/** Whatever is sent, the answer is in the envelope and no fault of the service. FC_SEED repeats a run. */

const REQUESTS = 20_000;
const AT_ONCE = 100;

let service: TestService;
let client: FastClient;
before(async () => {
  service = await startTestService();
  client = createFastClient(service.url, AT_ONCE);
  await service.feed([statusUpdate()]);
});
after(async () => {
  await client?.close();
  await service?.close();
});

/** Routes whose answers are not the envelope: what OAuth clients and readers of the description fetch. */
const OTHER_ROUTES = /^\/(?:oauth|openapi|reference|\.well-known)\b/;

const counts = new Map<string, number>();

async function assertAnsweredWell(request: RandomRequest): Promise<void> {
  const { status, headers, text, json } = await client.send(request.target, request);
  assert.match(headers.get('x-request-id') ?? '', /^[\w-]{10,}$/);
  if (OTHER_ROUTES.test(request.target) && status < 400) return;

  assert.equal(headers.get('cache-control'), 'no-store');
  if (status === 304) {
    assert.ok(request.headers?.['if-none-match'] !== undefined);
    assert.ok(headers.get('etag'));
    assert.equal(text, '');
    return;
  }
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(typeof json.message, 'string', text);
  const outcome = json.error_code ?? 'success';
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  if (json.success) {
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json), ['success', 'message', 'data', 'meta']);
    return;
  }
  assert.deepEqual(Object.keys(json), ['success', 'message', 'error_code']);
  assert.equal(status, HTTP_STATUSES[outcome as keyof typeof HTTP_STATUSES], text);
  // The one documented answer above 500: the bank could not say.
  assert.ok(status < 500 || status === 503, text);
}

test(`${REQUESTS} random requests: no fault of the service, every answer in the envelope`, async (t) => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`FC_SEED=${seed}`);
  const tokens = [service.alpha.token, service.beta.token];
  const batches = fc.array(randomRequests(tokens), { minLength: AT_ONCE, maxLength: AT_ONCE });
  const property = fc.asyncProperty(batches, async (batch) => {
    await Promise.all(batch.map((request) => assertAnsweredWell(request)));
  });
  // It takes 30 s on two idle cores. The bound is for shrinking: a failure is to be reported, not polished for ever.
  await fc.assert(property, {
    seed,
    numRuns: REQUESTS / AT_ONCE,
    interruptAfterTimeLimit: 120_000,
    markInterruptAsFailure: true,
  });

  t.diagnostic(JSON.stringify(Object.fromEntries([...counts].toSorted(([, one], [, other]) => other - one))));
  for (const outcome of [
    'success',
    'UNAUTHORIZED',
    'TRANSACTION_NOT_FOUND',
    'INVALID_TRANSACTION_ID',
    'INVALID_BANK_CODE',
    'INVALID_FORMAT',
    'NOT_FOUND',
    'METHOD_NOT_ALLOWED',
    'NOT_ACCEPTABLE',
    'PAYLOAD_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    'SERVICE_UNAVAILABLE',
  ]) {
    assert.ok((counts.get(outcome) ?? 0) > 0, `the requests never came to ${outcome}`);
  }
});

test('the service is alive after them, and has logged no error', async () => {
  const { status } = await service.get('/api/v1/check-status/TB0000000001');
  assert.equal(status, 200);
  assert.deepEqual(
    service.logged.filter((line) => Number(line['level']) >= 50),
    [],
  );
});
