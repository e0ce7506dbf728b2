import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { ENDPOINTS_MAX } from '../../apps/server/src/http/callbacks/register-endpoint.ts';
import { HTTP_STATUSES } from '../contract/assertions.ts';
import { createFastClient, type FastClient } from '../contract/fast-client.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { chooseSeed, DELIVERIES, ENDPOINTS, EVENTS, feedSuccesses, register } from './endpoints-harness.ts';

/** No request to the operations on callbacks and events causes an internal error. FC_SEED repeats a run. */

const REQUESTS = 1_500;
const AT_ONCE = 50;

let service: TestService;
let client: FastClient;
let endpointId: string;
before(async () => {
  service = await startTestService({ rails: [] });
  client = createFastClient(service.url, AT_ONCE);
  ({ endpointId } = await register(service));
  await feedSuccesses(service, 20);
  // Few more are allowed, so that requests reach the limit with any seed. FC_SEED=525298770 did not.
  for (let count = 1; count < ENDPOINTS_MAX - 2; count += 1) await register(service);
});
after(async () => {
  await client?.close();
  await service?.close();
});

interface RandomRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string | null;
}

const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 40 }));
const encoded = anyText.map((text) => encodeURIComponent(text.toWellFormed()));
const brokenEncoding = fc.constantFrom('%', '%ff', '%00', '%zz', '%ed%a0%80', "'", '"', '\\');

/** A valid value, a similar one, or an arbitrary one. */
const about = (...good: readonly fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.oneof(...good) },
    { weight: 1, arbitrary: anyText },
    { weight: 1, arbitrary: fc.jsonValue() },
  );

const times = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom('2026-11-21T00:00:00Z', '2099-01-01T00:00:00+14:00', '0001-01-01T00:00:00+01:00', '2026-11-21'),
);
const urls = fc.oneof(
  fc
    .webUrl({ withQueryParameters: true, withFragments: false })
    .map((url) => url.replace(/^https?:\/\/[^/]*/, 'http://127.0.0.1:9')),
  fc.ipV4().map((address) => `https://${address}/`),
  fc.ipV6().map((address) => `https://[${address}]/`),
);
const kinds = fc.oneof(
  fc.subarray(['disbursement.failed', 'disbursement.succeeded', 'disbursement.overdue'], { minLength: 1 }),
  fc.array(fc.constantFrom('disbursement.failed', 'nope'), { maxLength: 3 }),
);
const numbers = fc.oneof(fc.integer(), fc.double(), fc.bigInt().map(Number));

function requests(): fc.Arbitrary<RandomRequest> {
  const endpointIds = fc.constantFrom(endpointId, endpointId, endpointId, 'ep_00000000000000000000');
  const pathId = fc.oneof(
    { weight: 4, arbitrary: endpointIds },
    { weight: 4, arbitrary: endpointIds.map((id) => `${id}-1`) },
    { weight: 1, arbitrary: encoded },
    { weight: 1, arbitrary: brokenEncoding },
  );
  const at = (method: string, path: (id: string) => string): fc.Arbitrary<readonly [string, string]> =>
    pathId.map((id) => [method, path(id)] as const);
  const operation = fc.oneof(
    fc.constantFrom(
      ['POST', ENDPOINTS] as const,
      ['POST', ENDPOINTS] as const,
      ['POST', `${DELIVERIES}/replay`] as const,
      ['GET', DELIVERIES] as const,
      ['GET', EVENTS] as const,
      ['DELETE', EVENTS] as const,
    ),
    at('GET', (id) => `${ENDPOINTS}/${id}`),
    at('PATCH', (id) => `${ENDPOINTS}/${id}`),
    at('POST', (id) => `${ENDPOINTS}/${id}/rotate-secret`),
    at('GET', (id) => `${DELIVERIES}/${id}`),
    at('POST', (id) => `${DELIVERIES}/${id}/replay`),
  );
  const parameter = fc
    .tuple(
      fc.constantFrom('after', 'limit', 'state', 'endpoint_id'),
      fc.oneof(fc.nat().map(String), fc.constantFrom('pending', 'delivered'), endpointIds, encoded, brokenEncoding),
    )
    .map(([name, value]) => `${name}=${value}`);
  const query = fc.array(parameter, { maxLength: 3 }).map((parts) => (parts.length === 0 ? '' : `?${parts.join('&')}`));
  const object = fc.record(
    {
      url: about(urls),
      kinds: about(kinds),
      // Never disabled, or most later requests would be rejected for that reason alone.
      disabled: about(fc.constant(false)).filter((value) => value !== true),
      endpoint_id: about(endpointIds),
      from: about(times),
      to: about(times),
      state: about(fc.constantFrom('pending', 'delivered', 'exhausted', 'missing')),
      after: about(numbers),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    { weight: 6, arbitrary: object.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: anyText },
  );
  return fc.tuple(operation, query, body).map(([[method, path], query, body]) => ({
    method,
    target: path + query,
    body: method === 'GET' ? null : body.toWellFormed(),
  }));
}

test(`${REQUESTS} random requests are answered in the envelope, without an internal error`, async (t) => {
  const seed = chooseSeed();
  t.diagnostic(`FC_SEED=${seed}`);
  const counts = new Map<string, number>();
  const headers = { authorization: `Bearer ${service.alpha.token}`, 'content-type': 'application/json' };
  const property = fc.asyncProperty(fc.array(requests(), { minLength: AT_ONCE, maxLength: AT_ONCE }), async (batch) => {
    await Promise.all(
      batch.map(async ({ method, target, body }) => {
        const { status, text, json } = await client.send(target, { method, headers, body });
        const outcome = json.error_code ?? `success ${method}`;
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
        // 503 is possible when the machine stalls for seconds.
        assert.ok(status < 500 || status === 503, `${method} ${target} ${body}: ${text}`);
        if (json.success) assert.deepEqual(Object.keys(json), ['success', 'message', 'data', 'meta']);
        else assert.equal(status, HTTP_STATUSES[outcome as keyof typeof HTTP_STATUSES], text);
      }),
    );
  });
  await fc.assert(property, { seed, numRuns: REQUESTS / AT_ONCE, interruptAfterTimeLimit: 60_000 });
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
  for (const outcome of [
    'success GET',
    'success POST',
    'success PATCH',
    'INVALID_REQUEST',
    'INVALID_FORMAT',
    'ENDPOINT_NOT_FOUND',
    'DELIVERY_NOT_FOUND',
    'ENDPOINT_LIMIT_REACHED',
    'METHOD_NOT_ALLOWED',
  ]) {
    assert.ok((counts.get(outcome) ?? 0) > 0, `no request led to ${outcome}`);
  }
  assert.deepEqual(
    service.logged.filter((line) => Number(line['level']) >= 50),
    [],
  );
});
