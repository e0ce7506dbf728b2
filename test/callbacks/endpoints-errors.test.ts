import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertError, type ErrorCode } from '../contract/assertions.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { call, DELIVERIES, ENDPOINTS, EVENTS, register } from './endpoints-harness.ts';

/** Which requests the callback operations reject, with which code and in which order of checks. */

let service: TestService;
let endpointOfAlpha: string;
let unauthorized: TestClient;
before(async () => {
  service = await startTestService({ rails: [] });
  ({ endpointId: endpointOfAlpha } = await register(service));
  unauthorized = await service.addClient('unauthorized', ['status:read']);
});
after(() => service?.close());

const VALID_URL = 'http://127.0.0.1:9/';
const NONE = 'ep_00000000000000000000';
const RANGE = { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z' };

type Request = readonly [method: string, path: string, body?: unknown];

/** A valid request for every operation. */
const operations = (endpointId: string): readonly Request[] => [
  ['POST', ENDPOINTS, { url: VALID_URL }],
  ['GET', ENDPOINTS],
  ['GET', `${ENDPOINTS}/${endpointId}`],
  ['PATCH', `${ENDPOINTS}/${endpointId}`, { disabled: true }],
  ['POST', `${ENDPOINTS}/${endpointId}/rotate-secret`],
  ['POST', `${ENDPOINTS}/${endpointId}/test`],
  ['GET', DELIVERIES],
  ['GET', `${DELIVERIES}/${endpointId}-1`],
  ['POST', `${DELIVERIES}/${endpointId}-1/replay`],
  ['POST', `${DELIVERIES}/replay`, { endpoint_id: endpointId, ...RANGE }],
  ['GET', EVENTS],
];

const sendRequest = ([method, path, body]: Request, options: Parameters<typeof call>[3] = {}): Promise<Answer> =>
  call(service, method, path, { ...options, ...(body === undefined ? {} : { body }) });

async function assertInvalid(request: Request, message: RegExp, code: ErrorCode = 'INVALID_REQUEST'): Promise<void> {
  assertError(await sendRequest(request), code, message);
}

test('each operation checks token, scope and Accept, in this order', async () => {
  for (const request of operations(endpointOfAlpha)) {
    const headers = { accept: 'text/html' };
    assertError(await sendRequest(request, { token: null, headers }), 'UNAUTHORIZED');
    const scope = request[1] === EVENTS ? /events:read/ : /callbacks:manage/;
    assertError(await sendRequest(request, { token: unauthorized.token, headers }), 'FORBIDDEN', scope);
    assertError(await sendRequest(request, { headers }), 'NOT_ACCEPTABLE');
  }
});

test('operations with a body check content type, size, JSON, fields and endpoint, in this order', async () => {
  for (const [method, path] of operations(NONE).filter(([, , body]) => body !== undefined)) {
    const big = `{"filler":"${'x'.repeat(17_000)}"`;
    const text = { headers: { 'content-type': 'text/plain' }, body: big };
    assertError(await call(service, method, path, text), 'UNSUPPORTED_MEDIA_TYPE');
    assertError(await call(service, method, path, { body: big }), 'PAYLOAD_TOO_LARGE');
    await assertInvalid([method, path, '{'], /not valid JSON/, 'INVALID_FORMAT');
    await assertInvalid([method, path, '[]'], /must be a JSON object/, 'INVALID_FORMAT');
    await assertInvalid([method, path, '{}'], /Invalid request/);
    assertError(await call(service, method, path, { body: '{"url":"a","url":"b"}' }), 'INVALID_FORMAT');
  }
});

suite('an invalid URL is rejected with a message that says what to use instead', () => {
  const cases: readonly (readonly [url: unknown, message: RegExp])[] = [
    [undefined, /url must be a string/],
    [7, /url must be a string/],
    [null, /url must be a string/],
    ['', /absolute https URL/],
    ['callbacks', /absolute https URL/],
    ['ftp://example.com/', /absolute https URL/],
    ['http://example.com/', /Use https/],
    ['https://10.0.0.1/', /public address/],
    ['https://169.254.169.254/latest', /public address/],
    ['https://0x7f000001.example/', /resolved|public/],
    ['https://[fd00::1]/', /public address/],
    ['https://user:word@example.com/', /user name and password/],
    ['https://example.com/#part', /fragment/],
    ['https://example.com:22/', /one of the ports/],
    [`https://example.com/${'x'.repeat(2_100)}`, /at most 2048/],
    ['https://example.com/\u0000', /Percent-encode/],
  ];
  for (const [url, message] of cases) {
    test(JSON.stringify(url)?.slice(0, 60) ?? 'none', async () => {
      // At the same time: a name that is not accepted is rejected only after some seconds.
      const requests: Request[] = [['POST', ENDPOINTS, { url }]];
      if (url !== undefined) requests.push(['PATCH', `${ENDPOINTS}/${endpointOfAlpha}`, { url }]);
      await Promise.all(requests.map((request) => assertInvalid(request, message)));
    });
  }
});

test('kinds that are empty, unknown, repeated or not a list are rejected', async () => {
  const kind = 'disbursement.failed';
  for (const kinds of [[], ['nope'], [kind, kind], [kind, 'nope'], kind, null, {}, [null], [[kind]], 1]) {
    await assertInvalid(['POST', ENDPOINTS, { url: VALID_URL, kinds }], /kinds must be a list/);
    await assertInvalid(['PATCH', `${ENDPOINTS}/${endpointOfAlpha}`, { kinds }], /kinds must be a list/);
  }
});

test('a PATCH without a known field, or with a field of the wrong type, is rejected', async () => {
  await assertInvalid(['PATCH', `${ENDPOINTS}/${endpointOfAlpha}`, {}], /at least one of/);
  await assertInvalid(['PATCH', `${ENDPOINTS}/${endpointOfAlpha}`, { disable: true }], /at least one of/);
  for (const disabled of ['true', 1, null, []]) {
    await assertInvalid(['PATCH', `${ENDPOINTS}/${endpointOfAlpha}`, { disabled }], /true or false/);
  }
});

test('query parameters that are out of bounds, unknown or repeated are rejected', async () => {
  const cases: readonly (readonly [path: string, message: RegExp])[] = [
    [`${EVENTS}?after=-1`, /after must be a whole number/],
    [`${EVENTS}?after=`, /after must be a whole number/],
    [`${EVENTS}?after=1.5`, /after must be a whole number/],
    [`${EVENTS}?after=9999999999999999`, /after must be a whole number/],
    [`${EVENTS}?after=1&after=2`, /after at most once/],
    [`${EVENTS}?limit=0`, /limit must be a whole number from 1 to 1000/],
    [`${EVENTS}?limit=1001`, /limit must be/],
    [`${EVENTS}?limit=%00`, /limit must be/],
    [`${EVENTS}?limit=%ff`, /limit must be/],
    // Regression: they were ignored, so that `since` listed all events.
    [`${EVENTS}?since=150`, /a parameter that this list does not have; it has after, limit/],
    [`${EVENTS}?after=1&cursor=1`, /a parameter that this list does not have/],
    [`${DELIVERIES}?status=pending`, /does not have; it has endpoint_id, state, after, limit/],
    ['/api/v1/account-validations?after=1', /does not have; it has limit/],
    [`${DELIVERIES}?limit=0`, /limit must be/],
    [`${DELIVERIES}?state=done`, /state must be one of pending, delivered, exhausted/],
    [`${DELIVERIES}?state=missing`, /state must be one of/],
    [`${DELIVERIES}?after=7`, /after must be a delivery_id/],
    [`${DELIVERIES}?after=${NONE}-0`, /after must be a delivery_id/],
    [`${DELIVERIES}?state=pending&state=pending`, /state at most once/],
  ];
  for (const [path, message] of cases) await assertInvalid(['GET', path], message);
});

test('a replay needs an endpoint, from before to, and a known state', async () => {
  const good = { endpoint_id: endpointOfAlpha, ...RANGE };
  const cases: readonly (readonly [body: Record<string, unknown>, message: RegExp])[] = [
    [{ ...good, endpoint_id: undefined }, /endpoint_id must be a string/],
    [{ ...good, endpoint_id: 1 }, /endpoint_id must be a string/],
    [{ ...good, from: undefined }, /from must be a time/],
    [{ ...good, from: '2026-11-21' }, /from must be a time/],
    [{ ...good, from: '2026-02-30T00:00:00Z' }, /from must be a time/],
    [{ ...good, from: '0000-01-01T00:00:00Z' }, /from must be a time/],
    [{ ...good, to: '9999-12-31T23:59:59-10:00' }, /to must be a time/],
    [{ ...good, to: 1_763_700_000 }, /to must be a time/],
    [{ ...good, to: good.from }, /from must be before to/],
    [{ ...good, state: 'failed' }, /state must be one of/],
    [{ ...good, state: null }, /state must be one of/],
    [{ ...good, after: '1' }, /after must be a whole number/],
    [{ ...good, after: 0 }, /after must be a whole number/],
    [{ ...good, after: 999_999 }, /after must be the next_after/],
  ];
  for (const [body, message] of cases) await assertInvalid(['POST', `${DELIVERIES}/replay`, body], message);
});

test('a replay to a disabled endpoint is rejected', async () => {
  const { endpointId } = await register(service);
  await sendRequest(['PATCH', `${ENDPOINTS}/${endpointId}`, { disabled: true }]);
  const range = { endpoint_id: endpointId, ...RANGE };
  assertError(await sendRequest(['POST', `${DELIVERIES}/replay`, range]), 'ENDPOINT_DISABLED', /enable it first/);
});

test("another client's endpoint and an unknown one get the same bytes from every operation", async () => {
  const { token } = service.beta;
  const comparable = ({ status, text }: Answer): unknown => ({ status, text });
  for (const [index, request] of operations(endpointOfAlpha).entries()) {
    if (!request[1].includes('ep_') && !request[1].endsWith('/replay')) continue;
    const response = await sendRequest(request, { token });
    assert.equal(response.status, 404, response.text);
    const ofNone = operations(NONE)[index] ?? assert.fail();
    assert.deepEqual(comparable(response), comparable(await sendRequest(ofNone, { token })));
  }
  const filtered = await sendRequest(['GET', `${DELIVERIES}?endpoint_id=${endpointOfAlpha}`], { token });
  assertError(filtered, 'ENDPOINT_NOT_FOUND');
  assert.equal(filtered.text, (await sendRequest(['GET', `${DELIVERIES}?endpoint_id=${NONE}`], { token })).text);
  assert.deepEqual((await sendRequest(['GET', ENDPOINTS], { token })).json.data, { endpoints: [] });
  // None of the requests had an effect.
  const { json } = await sendRequest(['GET', `${ENDPOINTS}/${endpointOfAlpha}`]);
  assert.equal(json.data?.['status'], 'enabled');
});

test('a text that is no ID is not found', async () => {
  for (const id of ['x', '%00', '%ff', 'ep_%00', `${NONE}%0a`, 'EP_00000000000000000000', 'é', "'"]) {
    assertError(await sendRequest(['GET', `${ENDPOINTS}/${id}`]), 'ENDPOINT_NOT_FOUND');
    assertError(await sendRequest(['GET', `${DELIVERIES}/${id}`]), 'DELIVERY_NOT_FOUND');
    assertError(await sendRequest(['GET', `${DELIVERIES}?endpoint_id=${id}`]), 'ENDPOINT_NOT_FOUND');
  }
  assertError(await sendRequest(['GET', `${DELIVERIES}/${endpointOfAlpha}-9999999999999999`]), 'DELIVERY_NOT_FOUND');
  assertError(await sendRequest(['DELETE', `${ENDPOINTS}/${endpointOfAlpha}`]), 'METHOD_NOT_ALLOWED');
});

test('every operation answers SERVICE_UNAVAILABLE while the database is unavailable', async () => {
  const other = await startTestService({ rails: [] });
  try {
    const { endpointId } = await register(other);
    await other.app.database.close();
    for (const [method, path, body] of operations(endpointId)) {
      const answer = await call(other, method, path, body === undefined ? {} : { body });
      assertError(answer, 'SERVICE_UNAVAILABLE');
    }
  } finally {
    await other.close();
  }
});
