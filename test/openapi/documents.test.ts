import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { eventId } from '../../apps/server/src/domain/event.ts';
import { readFailureReason } from '../../apps/server/src/domain/failure-reason.ts';
import { parseMoney } from '../../apps/server/src/domain/money.ts';
import { FEED_FIELD_NAMES } from '../../apps/server/src/domain/transaction.ts';
import {
  assertValid,
  type Document,
  documentOf,
  type Listener,
  type Media,
  type Operation,
  operationsOf,
  responseOf,
} from '../support/openapi.ts';

/**
 * What every operation of both OpenAPI documents has, new ones too. SDKs and the reference page are made from it, so
 * the messages say what to add to the schema of the route.
 */

const LISTENERS = ['public', 'operator'] as const satisfies readonly Listener[];

const everyOperation = LISTENERS.flatMap((listener) => {
  const document = documentOf(listener);
  const webhooks = operationsOf({ ...document, paths: document.webhooks ?? {} });
  return [...operationsOf(document), ...webhooks].map((each) => {
    const { path, method, operation } = each;
    const name = `${listener}: ${method.toUpperCase()} ${path}`;
    return { operation, document, name, isWebhook: webhooks.includes(each) };
  });
});

test('each operation has an operationId of its own, a summary, a description, a scope and one tag', () => {
  const operationIds = new Set<string>();
  for (const { document, name, operation, isWebhook } of everyOperation) {
    const { operationId = '', summary, description, tags = [], security } = operation;
    assert.match(
      operationId,
      /^[a-z]+[A-Z]\w+$/,
      `${name}: give its schema an operationId, a verb and what it is about`,
    );
    assert.ok(!operationIds.has(operationId), `${name}: another operation has the operationId ${operationId}`);
    operationIds.add(operationId);
    assert.ok(
      summary !== undefined && !summary.endsWith('.'),
      `${name}: give its schema a summary, without a full stop`,
    );
    assert.match(description ?? '', /\.$/, `${name}: give its schema a description in sentences`);
    assert.equal(tags.length, 1, `${name}: give its schema one tag`);
    const known = document.tags.map((tag) => tag.name);
    assert.ok(
      known.includes(tags[0] ?? ''),
      `${name}: the tag ${tags[0]} is not described in http/openapi/*-api.ts; known are ${known.join(', ')}`,
    );
    assert.ok(security !== undefined, `${name}: give its schema security: accessToken(scope), or [] for none`);
    assert.ok(isWebhook || '200' in operation.responses || Object.keys(operation.responses).some(isCreated), name);
  }
  for (const listener of LISTENERS) {
    const used = new Set(operationsOf(documentOf(listener)).flatMap(({ operation }) => operation.tags));
    for (const { name, description } of documentOf(listener).tags) {
      assert.ok(used.has(name), `no operation has the tag ${name}`);
      assert.match(description, /\.$/);
    }
  }
});

const isCreated = (status: string): boolean => status === '201' || status === '202';

/** The SDK is generated from these names: change one only with a new version of the API. */
test('the operations of the contract keep their operationIds', () => {
  const { paths } = documentOf('public');
  assert.equal(paths['/api/v1/check-status/{transaction_id}']?.['get']?.operationId, 'checkStatus');
  assert.equal(paths['/api/v1/check-status']?.['get']?.operationId, 'checkStatusByReference');
  assert.equal(paths['/api/v1/check-account']?.['post']?.operationId, 'checkAccount');
  assert.equal(paths['/oauth/token']?.['post']?.operationId, 'createAccessToken');
});

/** A workbook cannot be shown as JSON. */
const WITHOUT_EXAMPLE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

test('each parameter, body and response has an example, and each example is as its schema says', () => {
  let judged = 0;
  for (const { document, name, operation } of everyOperation) {
    for (const [part, media] of partsOf(document, operation)) {
      const { schema, example, examples } = media;
      const given = examples === undefined ? [example] : Object.values(examples).map(({ value }) => value);
      if (part === WITHOUT_EXAMPLE) continue;
      for (const value of given) {
        assert.ok(value !== undefined, `${name}, ${part}: give each of its fields that is a string an example`);
        assertValid(document, schema, value, `${name}, example of ${part}`);
        judged += 1;
      }
    }
  }
  assert.ok(judged > 300, `only ${judged} examples`);
});

function partsOf(document: Document, operation: Operation): (readonly [part: string, media: Media])[] {
  const responses = Object.keys(operation.responses).flatMap((status) =>
    Object.entries(responseOf(document, operation, status)?.content ?? {}).map(
      ([type, media]) => [`${status} ${type}`, media] as const,
    ),
  );
  const parameters = (operation.parameters ?? [])
    .filter((parameter) => !('$ref' in parameter))
    .map((parameter) => [parameter.name, parameter] as const);
  return [...parameters, ...Object.entries(operation.requestBody?.content ?? {}), ...responses];
}

test('each object is a named component, and so a type of an SDK', () => {
  for (const { document, name, operation } of everyOperation) {
    for (const [part, { schema }] of partsOf(document, operation)) assertNamed(schema, `${name}, ${part}`);
  }
  for (const listener of LISTENERS) {
    for (const [title, schema] of Object.entries(documentOf(listener).components.schemas)) {
      for (const part of Object.values(schema)) assertNamed(part, `${listener}: ${title}`);
    }
  }
});

/** A schema that is a reference names no other schema. */
function assertNamed(schema: unknown, name: string): void {
  if (typeof schema !== 'object' || schema === null) return;
  assert.ok(!('properties' in schema && 'type' in schema), `${name}: give the object that it contains a title`);
  for (const [key, part] of Object.entries(schema)) if (key !== 'examples') assertNamed(part, name);
}

test('each error response is described once, and referenced', () => {
  for (const { name, operation, isWebhook } of everyOperation) {
    if (isWebhook) continue;
    for (const [status, response] of Object.entries(operation.responses)) {
      if (status < '400' || OWN_ERRORS.has(`${operation.operationId} ${status}`)) continue;
      assert.ok('$ref' in response, `${name}, ${status}: take the response from errorResponses`);
    }
  }
});

/** The errors of RFC 6749, and the answer of a process that is not ready. */
const OWN_ERRORS = new Set([
  ...['createAccessToken', 'createOperatorAccessToken'].flatMap((id) => [`${id} 400`, `${id} 401`, `${id} 429`]),
  'getReadiness 503',
]);

// Regression: four fields were missing, and the failure reason was one that becomes OTHER.
test('a status update has every field of the feed, and a failure reason that is published', () => {
  const { properties } = documentOf('operator').components.schemas['StatusUpdate'] as {
    readonly properties: Readonly<Record<string, { readonly anyOf?: readonly { readonly examples?: string[] }[] }>>;
  };
  assert.deepEqual(Object.keys(properties).sort(), [...Object.values(FEED_FIELD_NAMES), 'total_amount'].sort());
  const [reason = assert.fail()] = properties['failure_reason']?.anyOf?.[0]?.examples ?? [];
  assert.notEqual(readFailureReason(reason), 'OTHER', reason);
});

// Regression: the description admitted zeros in front, which are refused.
test('the amounts of a search are described as they are read', () => {
  const { parameters = [] } = documentOf('public').paths['/api/v1/transactions']?.['get'] ?? {};
  for (const name of ['amount_from', 'amount_to']) {
    const { schema } = parameters.find((each) => each.name === name) ?? assert.fail(name);
    const pattern = new RegExp((schema as { readonly pattern: string }).pattern);
    for (const text of ['0', '0.5', '150000.00', '9'.repeat(18), '007', '-1', '1.', '.5', '1.001', '9'.repeat(19)]) {
      assert.equal(pattern.test(text), parseMoney(text) !== null, text);
    }
  }
});

// Regression: the bank of `bank.down` was UP, and the ID was one that no event has.
test('the examples of callbacks are as callbacks are', () => {
  const { webhooks = {} } = documentOf('public');
  const media = webhooks['bank']?.['post']?.requestBody?.content['application/json'] ?? assert.fail();
  const { type, data } = media.example as { readonly type: string; readonly data: { readonly status: string } };
  assert.deepEqual([type, data.status], ['bank.down', 'DOWN']);
  for (const { operation } of operationsOf({ ...documentOf('public'), paths: webhooks })) {
    const id = operation.parameters?.find(({ name }) => name === 'webhook-id')?.example;
    assert.equal(id, eventId('TB2026112100000001', 1));
  }
});

/** The English example of a success, or the one of another media type. */
function exampleOf(path: string, method: string, type = 'application/json'): unknown {
  const responses = documentOf('public').paths[path]?.[method]?.responses ?? assert.fail(path);
  const status = Object.keys(responses).find((each) => each.startsWith('2')) ?? assert.fail(path);
  const response = responses[status] ?? assert.fail(path);
  const media = '$ref' in response ? undefined : response.content?.[type];
  return media?.examples?.['en']?.value ?? media?.example;
}

// Regression: the examples of streams and exports had amounts without decimals, which are never sent.
test('amounts have two decimals in examples that are text', () => {
  const list = '/api/v1/transactions';
  for (const [path, type] of [
    ['/api/v1/check-status', 'text/event-stream'],
    ['/api/v1/check-status/{transaction_id}', 'text/event-stream'],
    [list, 'application/x-ndjson'],
  ] as const) {
    const text = String(exampleOf(path, 'get', type));
    assert.match(text, /"amount":150000\.00,"fee":2500\.00,"total_amount":152500\.00,/);
  }
  assert.match(String(exampleOf(list, 'get', 'text/csv')), /,150000\.00,2500\.00,152500\.00,/);
});

// Regression: a cancelled validation was COMPLETED, as was a new one, and a callback that is sent again was delivered.
test('the example of an operation is what it leads to', () => {
  for (const [path, field, value] of [
    ['/api/v1/account-validations', 'state', 'RUNNING'],
    ['/api/v1/account-validations/{validation_id}/cancel', 'state', 'CANCELLED'],
    ['/api/v1/callback-deliveries/{delivery_id}/replay', 'state', 'pending'],
    // The request asks for no comparison of names.
    ['/api/v1/check-account', 'name_match', undefined],
  ] as const) {
    const { data } = exampleOf(path, 'post') as { readonly data: Readonly<Record<string, unknown>> };
    assert.equal(data[field], value, path);
  }
  const { requestBody } = documentOf('public').paths['/api/v1/check-account']?.['post'] ?? {};
  assert.deepEqual(requestBody?.content['application/json']?.example, {
    bank_code: '014',
    account_number: '1234567890',
  });
});

/** The original contract's sections 1, 6 and 8 (docs/contract.md 1, 6 and 8.1). */
test('the description and docs/api.md give the advice of the contract', () => {
  const { info } = documentOf('public') as unknown as { info: { description: string } };
  const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## How to use it\n(.*?)^## /ms.exec(page) ?? [];
  for (const text of [info.description, section]) {
    for (const advice of [
      /Validate before you disburse/,
      /Prefer callbacks to polling/,
      /Poll `PROCESS` every 10 seconds, up to 30 times/,
      /up to 30 minutes/,
      /Back off exponentially/,
      /Cache final statuses/,
      /never change/,
    ]) {
      assert.match(text.replaceAll(/\s+/g, ' '), advice);
    }
  }
});
