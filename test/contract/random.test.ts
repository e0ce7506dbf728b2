import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { randomRequests as numberOfRequests } from '../support/suite-environment.ts';
import { HTTP_STATUSES } from './assertions.ts';
import { createFastClient, type FastClient } from './fast-client.ts';
import { type RandomRequest, randomRequests } from './random-requests.ts';
import { startWalletAndAliasRails } from './wallet-and-alias-rails.ts';

/** docs/contract.md 2.1 and 7.1: any input is answered in the envelope and never with a 500. FC_SEED repeats a run. */

const REQUESTS = numberOfRequests(8_000);
const AT_ONCE = 100;

let service: TestService;
let client: FastClient;
let reached: Awaited<ReturnType<typeof startWalletAndAliasRails>>;
before(async () => {
  reached = await startWalletAndAliasRails();
  service = await startTestService({ rails: reached.rails });
  client = createFastClient(service.url, AT_ONCE);
  // Random accounts look like enumeration.
  for (const clientId of ['alpha', 'beta']) await changeClient(service.app.database, clientId, 'trust');
  await service.app.clients.reload();
  await service.feed([statusUpdate()]);
});
after(async () => {
  await client?.close();
  await service?.close();
  await reached?.close();
});

/** Routes whose successful answers have no envelope: OAuth documents and the API's description. */
const OTHER_ROUTES = /^\/(?:oauth|openapi|reference|\.well-known)\b/;

const counts = new Map<string, number>();

async function assertValidAnswer(request: RandomRequest): Promise<void> {
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
  // The only documented status above 500: the bank cannot answer.
  assert.ok(status < 500 || status === 503, text);
}

test(`${REQUESTS} random requests: no INTERNAL_ERROR, every answer in the envelope`, async (t) => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`FC_SEED=${seed}`);
  const tokens = [service.alpha.token, service.beta.token];
  const batches = fc.array(randomRequests(tokens), { minLength: AT_ONCE, maxLength: AT_ONCE });
  const property = fc.asyncProperty(batches, async (batch) => {
    await Promise.all(batch.map((request) => assertValidAnswer(request)));
  });
  // It takes 8 s on two idle cores. The time limit is for shrinking: a failure must be reported, not minimized
  // endlessly.
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
    'UNSUPPORTED_BANK',
    'SERVICE_UNAVAILABLE',
  ]) {
    assert.ok((counts.get(outcome) ?? 0) > 0, `no request ended with ${outcome}`);
  }
});

test('the random requests have inquired about banks, e-wallets and aliases', async () => {
  const inquired = new Set(service.logged.flatMap(({ bank, rail }) => (rail === undefined ? [] : [bank])));
  for (const bic of ['CENAIDJA', 'GOPAY', 'BIFAST']) assert.ok(inquired.has(bic), bic);
});

test('after the random requests the service still answers, and has logged no error', async () => {
  const { status } = await service.get('/api/v1/check-status/TB0000000001');
  assert.equal(status, 200);
  assert.deepEqual(
    service.logged.filter((line) => Number(line['level']) >= 50),
    [],
  );
});
