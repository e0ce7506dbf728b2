import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { validationsOf } from '../account-validations/validations.ts';
import { startCallbackReceiver } from '../callbacks/webhook.ts';
import { send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type ReceivedSpan, startCollector, type TestCollector } from './collector.ts';

/** Traces arrive at a collector, with the right parents (docs/operating.md, "Traces"). */

const ACCOUNT = { bank_code: '014', account_number: '1234567890' };
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;

let collector: TestCollector;
let service: TestService;
before(async () => {
  collector = await startCollector();
  service = await startTestService({
    settings: {
      otlpEndpoint: `${collector.url}/`,
      otlpHeaders: { authorization: 'Bearer of the collector' },
      otelResourceAttributes: { 'deployment.environment.name': 'test' },
      snapPort: 0,
    },
  });
});
after(async () => {
  await service?.close();
  await collector?.close();
});

/** The span of the request with this ID, which the client gets as X-Request-Id. */
const requestSpan = (headers: Headers): Promise<ReceivedSpan> =>
  collector.untilSpan('the request', ({ attributes }) => attributes['tiba.request_id'] === headers.get('x-request-id'));

const childOf = (parent: ReceivedSpan, name: string): Promise<ReceivedSpan> =>
  collector.untilSpan(name, (span) => span.parentSpanId === parent.spanId && span.name === name);

test('an account check and the inquiry at the bank, without account number and name', async () => {
  const { headers, json } = await service.checkAccount(ACCOUNT);
  const request = await requestSpan(headers);
  assert.equal(request.name, 'POST /api/v1/check-account');
  assert.equal(request.parentSpanId, undefined);
  assert.deepEqual(request.links, []);
  assert.equal(request.attributes['http.response.status_code'], 200);
  assert.equal(request.attributes['tiba.client_id'], 'alpha');
  assert.equal(request.attributes['tiba.listener'], 'public');
  const inquiry = await childOf(request, 'account inquiry');
  assert.equal(inquiry.traceId, request.traceId);
  assert.equal(inquiry.kind, 3);
  const { 'tiba.rail_code': code, ...attributes } = inquiry.attributes;
  assert.deepEqual(attributes, { 'tiba.rail': 'simulated-bank', 'tiba.bank': 'CENAIDJA', 'tiba.outcome': 'ACTIVE' });
  assert.match(String(code), /^20015\d\d$/);
  const sent = collector.requests.map(({ body }) => body).join('');
  assert.ok(!sent.includes(ACCOUNT.account_number) && !sent.includes(String(json.data?.['account_name'])));

  const line = service.logged.find(({ requestId }) => requestId === headers.get('x-request-id'));
  assert.equal(line?.['trace_id'], request.traceId);
  assert.equal(line?.['span_id'], request.spanId);
});

test('the collector gets the headers of the settings, and who sends', async () => {
  await service.get('/api/v1/check-status/NONE');
  const [first] = await collector.untilReceived(1);
  assert.equal(first?.path, '/v1/traces');
  assert.equal(first?.headers['authorization'], 'Bearer of the collector');
  const resource = collector.resource();
  assert.equal(resource['service.name'], 'tiba');
  assert.equal(resource['deployment.environment.name'], 'test');
  assert.equal(typeof resource['service.instance.id'], 'string');
});

test('a status check is one span: look-ups of several requests share a query', async () => {
  const { headers } = await service.get('/api/v1/check-status/NONE');
  const request = await requestSpan(headers);
  assert.equal(request.name, 'GET /api/v1/check-status/:transaction_id');
  assert.equal(request.attributes['error.type'], 'TRANSACTION_NOT_FOUND');
  assert.equal(request.failure, undefined);
});

test('a client that says it is sampled gets a trace of its own, with a link', async () => {
  const headers = { traceparent: TRACEPARENT, tracestate: 'vendor=secret' };
  const request = await requestSpan((await service.get('/api/v1/check-status/NONE', { headers })).headers);
  assert.notEqual(request.traceId, TRACE_ID);
  assert.equal(request.parentSpanId, undefined);
  assert.deepEqual(
    request.links.map(({ traceId, spanId }) => [traceId, spanId]),
    [[TRACE_ID, SPAN_ID]],
  );
});

for (const traceparent of [
  `ff-${TRACE_ID}-${SPAN_ID}-01`,
  `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
  `${TRACEPARENT}, ${TRACEPARENT}`,
  'x'.repeat(5_000),
]) {
  test(`a malformed traceparent is ignored: ${traceparent.slice(0, 30)}`, async () => {
    const { headers } = await service.get('/api/v1/check-status/NONE', { headers: { traceparent } });
    const request = await requestSpan(headers);
    assert.deepEqual([request.parentSpanId, request.links], [undefined, []]);
  });
}

async function addEndpoint(url: string): Promise<string> {
  const endpointId = `ep_${randomBytes(10).toString('hex')}`;
  const secret = createSeal(Buffer.alloc(32, 7)).seal(`whsec_${randomBytes(32).toString('base64')}`);
  await service.app.database.query(
    `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
     values ('alpha', $1, $2, '{disbursement.succeeded}', $3)`,
    [endpointId, url, secret],
  );
  return endpointId;
}

test("the core's trace goes on, from the feed to the client's receiver", async (context) => {
  const receiver = await startCallbackReceiver(context);
  const endpointId = await addEndpoint(receiver.callbackUrl);
  const created_at = new Date().toISOString();
  const updates = ['TR0000000001', 'TR0000000002'].map((id) =>
    statusUpdate({ transaction_id: id, reference_id: id, status: 'SUCCESS', created_at, processed_at: created_at }),
  );
  const response = await fetch(`${service.operatorUrl}/feed/v1/transactions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${service.core.token}`,
      traceparent: TRACEPARENT,
    },
    body: JSON.stringify(updates),
  });
  assert.equal(response.status, 200, await response.text());
  const request = await requestSpan(response.headers);
  assert.equal(request.traceId, TRACE_ID);
  assert.equal(request.parentSpanId, SPAN_ID);
  assert.equal(request.attributes['tiba.listener'], 'operator');
  // One step for both lines.
  const chunk = await childOf(request, 'feed chunk');
  assert.equal(Number(chunk.attributes['tiba.updates']), 2);

  for (const callback of await receiver.untilReceived(2)) {
    const [, traceId, spanId] = String(callback.headers['traceparent']).split('-');
    assert.equal(traceId, TRACE_ID);
    assert.equal(callback.headers['tracestate'], undefined);
    const attempt = await collector.untilSpan('the callback', (span) => span.spanId === spanId);
    assert.equal(attempt.parentSpanId, chunk.spanId);
    assert.equal(attempt.name, 'callback');
    assert.equal(attempt.attributes['tiba.endpoint_id'], endpointId);
    assert.equal(attempt.attributes['tiba.event'], 'disbursement.succeeded');
    assert.equal(attempt.attributes['http.response.status_code'], 200);
    assert.match(String(attempt.attributes['tiba.subject_id']), /^TR000000000[12]$/);
  }
});

test('a test callback that the receiver rejects', async (context) => {
  const receiver = await startCallbackReceiver(context, (response) => response.writeHead(500).end());
  const endpointId = await addEndpoint(receiver.callbackUrl);
  const path = `/api/v1/callback-endpoints/${endpointId}/test`;
  const { status, headers, text } = await service.get(path, { method: 'POST' });
  assert.equal(status, 200, text);
  const attempt = await childOf(await requestSpan(headers), 'callback');
  assert.equal(attempt.failure, '500');
});

test('a status check that asks the bank', async () => {
  const id = 'TR0000000009';
  const created_at = new Date().toISOString();
  const rail = { rail: 'simulated-bank', rail_reference: id };
  await service.feed(statusUpdate({ transaction_id: id, reference_id: id, created_at, ...rail }));
  const request = await requestSpan((await service.get(`/api/v1/check-status/${id}`)).headers);
  const inquiry = await childOf(request, 'status inquiry');
  assert.equal(inquiry.attributes['tiba.rail'], 'simulated-bank');
  assert.equal(inquiry.attributes['tiba.transaction_id'], id);
  assert.equal(inquiry.attributes['tiba.trigger'], 'reader');
  assert.equal(inquiry.attributes['tiba.outcome'], 'unknown_transfer');
});

test('each row of a bulk validation is a trace of its own that links to the upload', async () => {
  const { headers, json } = await validationsOf(service).sendRows([
    ACCOUNT,
    { ...ACCOUNT, account_number: '9876543210' },
  ]);
  const upload = await requestSpan(headers);
  const validation = json.data?.['validation_id'];
  for (const number of [1, 2]) {
    const row = await collector.untilSpan(`row ${number}`, ({ attributes }) => {
      return attributes['tiba.account_validation_id'] === validation && Number(attributes['tiba.row']) === number;
    });
    assert.equal(row.parentSpanId, undefined);
    assert.deepEqual([row.links[0]?.traceId, row.links[0]?.spanId], [upload.traceId, upload.spanId]);
    await childOf(row, 'account inquiry');
  }
});

test('the SNAP listener has spans, and what monitors ask has none', async () => {
  await send(`${service.operatorUrl}/livez`, {});
  await fetch(`${service.operatorUrl}/metrics`);
  const { headers } = await fetch(`${service.app.snapUrl}/v1.0/transfer/status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const request = await requestSpan(headers);
  assert.equal(request.attributes['tiba.listener'], 'snap');
  assert.ok(!collector.spans().some(({ name }) => /livez|metrics/.test(name)));
});

test('metrics have the trace of a request as an example, where Prometheus asks for OpenMetrics', async () => {
  const request = await requestSpan((await service.checkAccount(ACCOUNT)).headers);
  const scrape = (accept: string): Promise<Response> =>
    fetch(`${service.operatorUrl}/metrics`, { headers: { accept } });
  const answer = await scrape('application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4');
  assert.equal(answer.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  const metrics = await answer.text();
  assert.match(metrics, new RegExp(`_bucket\\{route="/api/v1/check-account",.* # \\{trace_id="${request.traceId}"`));
  assert.match(metrics, /tiba_inquiry_duration_seconds_bucket\{rail="simulated-bank",.* # \{trace_id=/);
  assert.ok(metrics.endsWith('\n# EOF\n'));
  const plain = await scrape('text/plain;q=0.9,application/openmetrics-text;q=0.5');
  assert.match(String(plain.headers.get('content-type')), /^text\/plain; version=0.0.4/);
  assert.ok(!(await plain.text()).includes(' # {'));
});

test('the spans are counted', async () => {
  const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  assert.match(metrics, /^tiba_trace_spans_total\{outcome="exported"\} [1-9]\d*$/m);
});
