import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { judge } from '../support/described-answers.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { documentOf, operationsOf } from '../support/openapi.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { call, DELIVERIES, ENDPOINTS, EVENTS, feedSuccesses, register } from './endpoints-harness.ts';

/** The operations on callbacks and events behave as the published description (/openapi.json) says. */

const OWN = /^\/api\/v1\/(?:callback|events)/;

let service: TestService;
let receiver: HttpReceiver;
const operations = operationsOf(documentOf('public')).filter(({ path }) => OWN.test(path));

before(async () => {
  service = await startTestService({ rails: [] });
  receiver = await startHttpReceiver();
});
after(async () => {
  await receiver?.close();
  await service?.close();
});

interface Case {
  /** A request that succeeds. */
  readonly target: string;
  readonly body?: unknown;
  /** A request for an unknown resource. */
  readonly missing?: string;
  readonly missingBody?: unknown;
  /** Other requests that it rejects. */
  readonly wrong?: readonly (readonly [target: string, body?: unknown])[];
}

async function answersOf(method: string, { target, body, missing, missingBody, wrong = [] }: Case): Promise<Answer[]> {
  const verb = method.toUpperCase();
  const { token: unauthorized } = await service.addClient(`unauthorized-${method}-${target.length}`, ['status:read']);
  const sendRequest = (to: string, options: Parameters<typeof call>[3]): Promise<Answer> =>
    call(service, verb, to, options);
  const answers = [
    await sendRequest(target, { body }),
    await sendRequest(target, { body, token: null }),
    await sendRequest(target, { body, token: unauthorized }),
    await sendRequest(target, { body, headers: { accept: 'text/html' } }),
  ];
  if (missing !== undefined) answers.push(await sendRequest(missing, { body: missingBody ?? body }));
  for (const [to, wrongBody] of wrong) answers.push(await sendRequest(to, { body: wrongBody }));
  if (method !== 'get') {
    answers.push(
      await sendRequest(target, { body: '{' }),
      await sendRequest(target, { body: 'x'.repeat(17_000) }),
      await sendRequest(target, { body: 'text', headers: { 'content-type': 'text/plain' } }),
    );
  }
  return answers;
}

/** Requests to every operation, by its operationId. `disabled` is the ID of a disabled endpoint. */
function casesFor(endpointId: string, disabled: string): Readonly<Record<string, Case>> {
  const none = 'ep_00000000000000000000';
  const range = { endpoint_id: endpointId, from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
  return {
    listCallbackEndpoints: { target: ENDPOINTS },
    getCallbackEndpoint: { target: `${ENDPOINTS}/${endpointId}`, missing: `${ENDPOINTS}/${none}` },
    changeCallbackEndpoint: {
      target: `${ENDPOINTS}/${endpointId}`,
      body: { disabled: false },
      missing: `${ENDPOINTS}/${none}`,
    },
    rotateCallbackSecret: {
      target: `${ENDPOINTS}/${endpointId}/rotate-secret`,
      missing: `${ENDPOINTS}/${none}/rotate-secret`,
    },
    testCallbackEndpoint: { target: `${ENDPOINTS}/${endpointId}/test`, missing: `${ENDPOINTS}/${none}/test` },
    listCallbackDeliveries: {
      target: `${DELIVERIES}?limit=1`,
      missing: `${DELIVERIES}?endpoint_id=${none}`,
      wrong: [[`${DELIVERIES}?limit=0`], [`${DELIVERIES}?limit=1000`]],
    },
    getCallbackDelivery: { target: `${DELIVERIES}/${endpointId}-1`, missing: `${DELIVERIES}/${endpointId}-999` },
    replayCallbackDelivery: {
      target: `${DELIVERIES}/${endpointId}-1/replay`,
      missing: `${DELIVERIES}/${endpointId}-999/replay`,
      wrong: [[`${DELIVERIES}/${disabled}-1/replay`]],
    },
    replayCallbackDeliveries: {
      target: `${DELIVERIES}/replay`,
      body: range,
      missing: `${DELIVERIES}/replay`,
      missingBody: { ...range, endpoint_id: none },
      wrong: [
        [`${DELIVERIES}/replay`, {}],
        [`${DELIVERIES}/replay`, { ...range, endpoint_id: disabled }],
      ],
    },
    listEvents: { target: `${EVENTS}?limit=1`, wrong: [[`${EVENTS}?limit=0`], [`${EVENTS}?limit=1&after=999999`]] },
    // Last, because it registers the maximum number of endpoints.
    registerCallbackEndpoint: {
      target: ENDPOINTS,
      body: { url: receiver.url },
      wrong: [[ENDPOINTS, {}], ...Array.from({ length: 9 }, () => [ENDPOINTS, { url: receiver.url }] as const)],
    },
  };
}

test('every response matches its description, and every described status occurs', async () => {
  const { endpointId } = await register(service, { url: receiver.url });
  const { endpointId: disabled } = await register(service);
  await feedSuccesses(service, 2, { amount: '9007199254740993.01' });
  await call(service, 'PATCH', `${ENDPOINTS}/${disabled}`, { body: { disabled: true } });
  await call(service, 'POST', `${DELIVERIES}/${endpointId}-1/replay`);
  const cases = casesFor(endpointId, disabled);
  await feedBefore(disabled);

  const seen = new Set<string>();
  assert.deepEqual(new Set(operations.map(({ operation }) => operation.operationId)), new Set(Object.keys(cases)));
  for (const operationId of Object.keys(cases)) {
    const { path, method } = operations.find(({ operation }) => operation.operationId === operationId) ?? assert.fail();
    for (const answer of await answersOf(method, cases[operationId] ?? assert.fail())) {
      const { status, text, headers } = answer;
      judge({ listener: 'public', method, path, status, contentType: headers.get('content-type'), text });
      seen.add(`${operationId} ${answer.status}`);
    }
  }
  // Other tests cause these; all operations share them.
  const elsewhere = /(?:400 malformed|408|429|431|500|503|default)$/;
  const described = operations.flatMap(({ operation }) =>
    Object.entries(operation.responses).map(([status, response]) => {
      const isMalformed = '$ref' in response && response.$ref.endsWith('/InvalidFormat');
      return `${operation.operationId} ${status}${isMalformed ? ' malformed' : ''}`;
    }),
  );
  assert.deepEqual(
    described.filter((each) => !seen.has(each) && !elsewhere.test(each)),
    [],
  );
});

/** Creates a delivery of a disabled endpoint, from before it was disabled. */
async function feedBefore(endpointId: string): Promise<void> {
  await call(service, 'PATCH', `${ENDPOINTS}/${endpointId}`, { body: { disabled: false } });
  const range = { endpoint_id: endpointId, from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
  await call(service, 'POST', `${DELIVERIES}/replay`, { body: range });
  await call(service, 'PATCH', `${ENDPOINTS}/${endpointId}`, { body: { disabled: true } });
}

test('each operation describes the scope that it needs', () => {
  for (const { path, operation } of operations) {
    assert.deepEqual(operation.security, [{ accessToken: [path === EVENTS ? 'events:read' : 'callbacks:manage'] }]);
  }
});
