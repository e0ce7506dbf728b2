import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { isReferenceId } from '../../apps/server/src/domain/identifiers.ts';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { randomRequests } from '../support/suite-environment.ts';
import { assertError, type ErrorCode } from './assertions.ts';
import { BATCH_PATH, resultsOf } from './batch-requests.ts';
import { createFastClient, type FastClient } from './fast-client.ts';

/**
 * docs/contract.md 4.4: any batch is answered in the envelope, without a 5xx, and each of its IDs by its own result.
 * FC_SEED repeats a run, and RANDOM_REQUESTS is the number of requests.
 */

const REQUESTS = randomRequests(1_000);
const AT_ONCE = 100;

/** What each known ID of alpha finds. */
const KNOWN: ReadonlyMap<string, string> = new Map([
  ['TB0000000001', 'TB0000000001'],
  ['one', 'TB0000000001'],
  ['TB0000000002', 'TB0000000002'],
  ['"\\u0001",', 'TB0000000002'],
  // Equal to another transaction's ID, which is matched first.
  ['TB0000000003', 'TB0000000003'],
  ['batch', 'TB0000000004'],
]);

let service: TestService;
let client: FastClient;
before(async () => {
  service = await startTestService({ rails: [] });
  client = createFastClient(service.url, AT_ONCE);
  const { json } = await service.feed([
    statusUpdate({ transaction_id: 'TB0000000001', reference_id: 'one' }),
    statusUpdate({ transaction_id: 'TB0000000002', reference_id: '"\\u0001",', status: 'SUCCESS' }),
    statusUpdate({ transaction_id: 'TB0000000003', reference_id: 'three', status: 'SUCCESS' }),
    statusUpdate({ transaction_id: 'TB0000000004', reference_id: 'batch', status: 'SUCCESS' }),
    statusUpdate({ transaction_id: 'TB0000000005', reference_id: 'TB0000000003', status: 'SUCCESS' }),
    statusUpdate({ transaction_id: 'TB0000000006', reference_id: 'of beta', client_id: 'beta' }),
  ]);
  assert.equal(json.data?.['inserted'], 6);
});
after(async () => {
  await client?.close();
  await service?.close();
});

/** Any code units, also those that no UTF-8 text has: JSON can escape them. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0x24f }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 140 })
  .map((units) => String.fromCharCode(...units));
const id = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...KNOWN.keys(), 'of beta', 'TB0000000006', 'TB9999999999', 'NONE') },
  { weight: 2, arbitrary: anyText },
  { weight: 1, arbitrary: fc.constantFrom('', ' one', 'ONE', '\u0001', 'x'.repeat(129), '\ud800', '%00', '__proto__') },
);
const ids = fc.oneof(
  { weight: 6, arbitrary: fc.array(id, { minLength: 1, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.array(id, { minLength: 90, maxLength: 105 }) },
  { weight: 1, arbitrary: fc.array(fc.oneof(id, fc.jsonValue()), { maxLength: 6 }) },
  { weight: 1, arbitrary: fc.jsonValue() },
);
const json = fc.oneof(
  { weight: 8, arbitrary: ids.map((each) => JSON.stringify({ ids: each })) },
  { weight: 1, arbitrary: fc.tuple(ids, fc.jsonValue()).map(([each, x]) => JSON.stringify({ x, ids: each }, null, 1)) },
  { weight: 1, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) },
);
const body = fc.oneof(
  { weight: 10, arbitrary: json },
  { weight: 1, arbitrary: fc.tuple(json, fc.nat(300)).map(([text, cut]) => text.slice(0, cut)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ' '.repeat(163_841),
      '['.repeat(100_000),
      `{"ids":${'['.repeat(50_000)}`,
      '{"ids":["a"],"ids":["b"]}',
      '{"ids":["a",]}',
      '\ufeff{"ids":["one"]}',
      '{"__proto__":{"ids":["one"]}}',
      '',
    ),
  },
);
const headers = fc.record({
  'content-type': fc.oneof(
    { weight: 12, arbitrary: fc.constant('application/json') },
    { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json;charset=latin1', ';') },
  ),
  accept: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('application/json', '*/*') },
    { weight: 1, arbitrary: fc.constantFrom('text/html', 'text/event-stream') },
  ),
  authorization: fc.oneof(
    { weight: 12, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('Bearer x', 'Basic x') },
  ),
});
const request = fc.record({ headers, body });

const counts = new Map<string, number>();
const count = (outcome: string): void => void counts.set(outcome, (counts.get(outcome) ?? 0) + 1);

const ERRORS: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  'NOT_ACCEPTABLE',
  'UNSUPPORTED_MEDIA_TYPE',
  'PAYLOAD_TOO_LARGE',
  'INVALID_FORMAT',
];

function assertAnswer(answer: Answer, sent: string | Buffer): void {
  if (answer.status !== 200) {
    const code = ERRORS.find((each) => each === answer.json.error_code) ?? assert.fail(answer.text);
    assertError(answer, code);
    count(code);
    return;
  }
  const results = resultsOf(answer);
  const sentIds = (JSON.parse(sent.toString().replace(/^\ufeff/, '')) as { ids: string[] }).ids;
  assert.equal(results.length, sentIds.length);
  for (const [index, { id, transaction, error_code }] of results.entries()) {
    assert.equal(id, sentIds[index]);
    const expected = KNOWN.get(id) ?? (isReferenceId(id) ? 'TRANSACTION_NOT_FOUND' : 'INVALID_TRANSACTION_ID');
    const outcome = transaction?.['transaction_id'] ?? error_code;
    // A random text may be the ID of a transaction of alpha that is not in KNOWN.
    if (id !== 'three' && id !== 'TB0000000004' && id !== 'TB0000000005') assert.equal(outcome, expected);
    count(error_code ?? 'found');
  }
}

test(`${REQUESTS} random batches: no 5xx, every answer in the envelope, every ID with its own result`, async (t) => {
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`FC_SEED=${seed}`);
  const requests = fc.array(request, { minLength: AT_ONCE, maxLength: AT_ONCE });
  const property = fc.asyncProperty(requests, async (batch) => {
    const send = async ({ headers: sent, body: content }: (typeof batch)[number]): Promise<void> => {
      const authorization = sent.authorization || `Bearer ${service.alpha.token}`;
      const options = { method: 'POST', headers: { ...sent, authorization }, body: content };
      assertAnswer(await client.send(BATCH_PATH, options), content);
    };
    await Promise.all(batch.map(send));
  });
  // To minimize a hundred requests would take minutes, and the error already names the one that failed.
  await fc.assert(property, { seed, numRuns: REQUESTS / AT_ONCE, endOnFailure: true });
  t.diagnostic(JSON.stringify(Object.fromEntries([...counts].toSorted(([, one], [, other]) => other - one))));
  for (const outcome of ['found', 'TRANSACTION_NOT_FOUND', 'INVALID_TRANSACTION_ID', ...ERRORS]) {
    assert.ok((counts.get(outcome) ?? 0) > 0, `no result was ${outcome}`);
  }
  assert.deepEqual(
    service.logged.filter((line) => Number(line['level']) >= 50),
    [],
  );
});
