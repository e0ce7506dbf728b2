import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { BATCH_PATH, checkStatusBatch, outcomesOf, resultsOf, unknownIds } from './batch-requests.ts';
import { openRawConnection, rawRequest } from './raw-connection.ts';
import { untilStatus } from './until.ts';

/** docs/contract.md 4.4. Its limit: check-status-batch-limits.test.ts */

const EMOJI = '\u{1f600}';

/** The references of the transfers that the bank was asked about. */
const inquired: string[] = [];
const bank: Rail = {
  name: 'bank',
  reaches: () => true,
  inquireAccount: () => Promise.resolve({ kind: 'no_verdict', reason: 'timeout', railCode: null }),
  inquireStatus({ reference }) {
    inquired.push(reference);
    return Promise.resolve({ kind: 'no_status', reason: 'timeout', railCode: null });
  },
  close: () => Promise.resolve(),
};

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [bank] });
  // Those in PROCESS are new: an older one becomes overdue, and has another version then.
  const started = { created_at: new Date().toISOString() };
  const amount = '9007199254740993.01';
  await feed(
    statusUpdate({ transaction_id: 'TB0000000001', reference_id: 'in process', amount, ...started }),
    statusUpdate({ transaction_id: 'TB0000000002', reference_id: 'succeeded', status: 'SUCCESS' }),
    statusUpdate({ transaction_id: 'TB0000000003', reference_id: 'failed', status: 'FAILED', failure_reason: 'OTHER' }),
    statusUpdate({ transaction_id: 'TB0000000004', reference_id: 'TB0000000002', status: 'SUCCESS' }),
    statusUpdate({ transaction_id: 'TB0000000005', reference_id: '"\\/ ,{}é', description: '","data":{}', ...started }),
    statusUpdate({ transaction_id: 'TB0000000006', reference_id: 'batch', status: 'SUCCESS' }),
    statusUpdate({ transaction_id: 'TB0000000007', reference_id: 'of beta', client_id: 'beta' }),
  );
});
after(() => service?.close());

async function feed(...updates: Record<string, unknown>[]): Promise<void> {
  const { json } = await service.feed(updates);
  const { inserted = 0, advanced = 0 } = json.data as Record<string, number>;
  assert.equal(inserted + advanced, updates.length, JSON.stringify(json));
}

const batch = (...ids: readonly string[]): Promise<Answer> => checkStatusBatch(service, { ids });

suite('results', () => {
  test('a found transaction is, byte for byte, what check-status answers, with its ETag as version', async () => {
    const ids = ['TB0000000001', 'succeeded', 'failed', '"\\/ ,{}é'];
    const { text } = await batch(...ids);
    for (const id of ids) {
      const single = await service.get(`/api/v1/check-status/${encodeURIComponent(id)}`);
      const rendered = /"data":(.*),"meta"/s.exec(single.text)?.[1] ?? assert.fail(single.text);
      const version = JSON.parse(single.headers.get('etag') ?? '') as string;
      assert.ok(text.includes(`{"id":${JSON.stringify(id)},"version":${version},"transaction":${rendered}}`), text);
    }
    assert.ok(text.includes('"amount":9007199254740993.01,'), text);
  });

  test('each ID is answered, in the order of the request, also when it is given more than once', async () => {
    const ids = ['failed', 'TB0000000001', 'NONE', 'failed', '', 'in process', 'failed'];
    const answer = await batch(...ids);
    const failed = 'TB0000000003';
    const first = 'TB0000000001';
    assert.deepEqual(outcomesOf(answer), [
      failed,
      first,
      'TRANSACTION_NOT_FOUND',
      failed,
      'INVALID_TRANSACTION_ID',
      first,
      failed,
    ]);
    assert.deepEqual(
      resultsOf(answer).map(({ id }) => id),
      ids,
    );
  });

  test('an ID is matched as a transaction ID first, then as a reference ID', async () => {
    const expected = ['TB0000000002', 'TB0000000005'];
    assert.deepEqual(outcomesOf(await batch('TB0000000002', '"\\/ ,{}é')), expected);
  });

  test('an ID that is not found has the error code and the message of check-status', async () => {
    const { json } = await service.get('/api/v1/check-status/NONE');
    const { error_code, message } = json;
    assert.deepEqual(resultsOf(await batch('NONE')), [{ id: 'NONE', error_code, message }]);
  });

  test("another client's transaction looks like one that does not exist", async () => {
    const [byId, byReference, none] = resultsOf(await batch('TB0000000007', 'of beta', 'NONE'));
    assert.deepEqual({ ...byId, id: 'NONE' }, none);
    assert.deepEqual({ ...byReference, id: 'NONE' }, none);
    const own = await checkStatusBatch(service, { ids: ['of beta'] }, { token: service.beta.token });
    assert.deepEqual(outcomesOf(own), ['TB0000000007']);
  });

  test('an ID that is not valid is INVALID_TRANSACTION_ID, and is returned as sent', async () => {
    const invalid = ['', 'a\u0000b', '\u0085', 'x\ud800', 'x'.repeat(129), EMOJI.repeat(129), '\n'];
    const results = resultsOf(await batch('succeeded', ...invalid, 'failed'));
    for (const [index, id] of invalid.entries()) {
      const { message = '', ...result } = results[index + 1] ?? {};
      assert.deepEqual(result, { id, error_code: 'INVALID_TRANSACTION_ID' });
      assert.match(message, /^Invalid transaction ID format: .*1 to 128 characters/);
    }
    assert.equal(results.at(-1)?.transaction?.['transaction_id'], 'TB0000000003');
  });

  test('a batch of invalid IDs only is answered too', async () => {
    assert.deepEqual(outcomesOf(await batch('', '\t')), ['INVALID_TRANSACTION_ID', 'INVALID_TRANSACTION_ID']);
  });

  test('a change is visible to the next batch', async () => {
    await feed(statusUpdate({ transaction_id: 'TB0000000100', reference_id: 'changing' }));
    const read = async () => resultsOf(await batch('changing'))[0];
    assert.deepEqual([(await read())?.version, (await read())?.transaction?.['status']], [1, 'PROCESS']);
    await feed(statusUpdate({ transaction_id: 'TB0000000100', reference_id: 'changing', status: 'SUCCESS' }));
    assert.deepEqual([(await read())?.version, (await read())?.transaction?.['status']], [2, 'SUCCESS']);
  });

  test('Retry-After is given while a transaction is in PROCESS, and only then', async () => {
    assert.match((await batch('succeeded', 'in process', 'NONE')).headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal((await batch('succeeded', 'failed', 'NONE')).headers.get('retry-after'), null);
  });
});

suite('the body', () => {
  const FULL = 100;

  test('100 IDs are accepted, 101 are INVALID_FORMAT', async () => {
    assert.equal(resultsOf(await batch(...unknownIds(FULL))).length, FULL);
    assertError(await batch(...unknownIds(FULL + 1)), 'INVALID_FORMAT', /1 to 100/);
  });

  test('100 reference IDs of 128 four-byte characters fit, escaped or not', async () => {
    const reference = (index: number): string => EMOJI.repeat(125) + String(index).padStart(3, '0');
    await feed(statusUpdate({ transaction_id: 'TB0000000200', reference_id: reference(42), status: 'SUCCESS' }));
    const json = JSON.stringify({ ids: Array.from({ length: FULL }, (_, index) => reference(index)) }, null, 2);
    const escaped = json.replaceAll(EMOJI, '\\ud83d\\ude00');
    assert.ok(escaped.length > 150_000);
    for (const body of [json, escaped]) {
      const outcomes = outcomesOf(await checkStatusBatch(service, body));
      assert.equal(outcomes[42], 'TB0000000200');
      assert.equal(outcomes.filter((each) => each === 'TRANSACTION_NOT_FOUND').length, FULL - 1);
    }
  });

  test('more than 160 KiB is PAYLOAD_TOO_LARGE', async () => {
    const filled = (bytes: number): string => JSON.stringify({ ids: ['NONE'], x: '' }).padEnd(bytes);
    assert.deepEqual(outcomesOf(await checkStatusBatch(service, filled(163_840))), ['TRANSACTION_NOT_FOUND']);
    assertError(await checkStatusBatch(service, filled(163_841)), 'PAYLOAD_TOO_LARGE', /at most 160 KiB/);
  });

  for (const [name, body, message] of [
    ['no object', '[]', /must be a JSON object/],
    ['no JSON', '{"ids":["a"]', /not valid JSON/],
    ['no body', '', /the body is empty: send a JSON object/],
    ['without ids', '{}', /ids must be an array of 1 to 100/],
    ['ids that are null', '{"ids":null}', /ids must be an array of 1 to 100/],
    ['ids that are a string', '{"ids":"TB0000000001"}', /ids must be an array of 1 to 100/],
    ['ids that are an object', '{"ids":{"length":1,"0":"a"}}', /ids must be an array of 1 to 100/],
    ['no IDs', '{"ids":[]}', /ids must be an array of 1 to 100/],
    ['a number among the IDs', '{"ids":["a",1]}', /ids\[1\] must be a string/],
    ['null among the IDs', '{"ids":[null]}', /ids\[0\] must be a string/],
    ['an array among the IDs', '{"ids":[["a"]]}', /ids\[0\] must be a string/],
    ['ids twice, with different values', '{"ids":["a"],"ids":["b"]}', /names a field twice/],
    [
      'ids twice in a long body',
      JSON.stringify({ ids: ['a'] }).replace('}', `,"x":"${'x'.repeat(3_000)}","ids":["a"]}`),
      /names a field twice/,
    ],
    ['far more fields than it needs', `{"ids":["a"],"x":[${'{"x":1.5},'.repeat(1_000)}{}]}`, /too many fields/],
    ['an inherited name', '{"__proto__":{"ids":["a"]}}', /ids must be an array of 1 to 100/],
  ] as const) {
    test(`${name}: INVALID_FORMAT`, async () => {
      assertError(await checkStatusBatch(service, body), 'INVALID_FORMAT', message);
    });
  }

  test('unknown fields are ignored', async () => {
    const body = { ids: ['succeeded'], reference_id: 'failed', x: [1] };
    assert.deepEqual(outcomesOf(await checkStatusBatch(service, body)), ['TB0000000002']);
    const long = `{"ids": ["succeeded"], "amounts": [${'1.50, '.repeat(1_000)}1.50]}`;
    assert.deepEqual(outcomesOf(await checkStatusBatch(service, long)), ['TB0000000002']);
  });
});

suite('the request', () => {
  const ids = ['succeeded'];

  test('needs a token, and the scope status:read', async () => {
    assertError(await checkStatusBatch(service, { ids }, { token: null }), 'UNAUTHORIZED');
    const { token } = await service.addClient('batch-without-scope', ['account:check']);
    assertError(await checkStatusBatch(service, { ids }, { token }), 'FORBIDDEN', /status:read/);
  });

  test('is answered in JSON only', async () => {
    const accept = { accept: 'text/event-stream' };
    assertError(await checkStatusBatch(service, { ids }, { headers: accept }), 'NOT_ACCEPTABLE');
    const xml = { 'content-type': 'application/xml' };
    assertError(await checkStatusBatch(service, { ids }, { headers: xml }), 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('does not wait for a final status, and has no ETag', async () => {
    const headers = { prefer: 'wait=30', 'if-none-match': '*' };
    const answer = await checkStatusBatch(service, { ids: ['in process'] }, { headers });
    assert.deepEqual(outcomesOf(answer), ['TB0000000001']);
    assert.deepEqual([answer.headers.get('preference-applied'), answer.headers.get('etag')], [null, null]);
  });

  test('causes no status inquiry at a bank, where a single look-up does', async () => {
    const transfer = { rail: 'bank', rail_reference: 'P1', created_at: new Date().toISOString() };
    await feed(statusUpdate({ transaction_id: 'TB0000000008', reference_id: 'inquirable', ...transfer }));
    assert.deepEqual(outcomesOf(await batch('inquirable')), ['TB0000000008']);
    assert.deepEqual(inquired, []);
    await service.get('/api/v1/check-status/inquirable');
    assert.deepEqual(inquired, ['P1']);
  });

  test('the reference ID `batch` can still be looked up by path', async () => {
    for (const path of [BATCH_PATH, '/api/v1/check-status/%62atch', '/api/v1/check-status?reference_id=batch']) {
      assert.equal((await service.get(path)).json.data?.['transaction_id'], 'TB0000000006');
    }
  });

  test('another method is METHOD_NOT_ALLOWED', async () => {
    const answer = await checkStatusBatch(service, { ids }, { method: 'PUT' });
    assertError(answer, 'METHOD_NOT_ALLOWED');
    assert.equal(answer.headers.get('allow'), 'GET, HEAD, POST');
  });

  test('a client that leaves in the middle of the body does no harm', async () => {
    const connection = await openRawConnection(service.url);
    const headers = {
      authorization: `Bearer ${service.alpha.token}`,
      'content-type': 'application/json',
      'content-length': '1000',
    };
    connection.send(rawRequest('POST', BATCH_PATH, { headers }));
    connection.send('{"ids":["succ');
    connection.end();
    await connection.closed;
    assert.deepEqual(outcomesOf(await untilStatus(200, () => batch('succeeded'))), ['TB0000000002']);
    assert.deepEqual(
      service.logged.filter((line) => Number(line['level']) >= 50),
      [],
    );
  });

  test('its log line has the number of IDs and of transactions found, and no ID', async () => {
    await batch('in process', 'NONE', 'in process');
    const line = service.logged.findLast(({ route }) => route === BATCH_PATH);
    assert.deepEqual([line?.['ids'], line?.['found']], [3, 2]);
    assert.ok(!JSON.stringify(line).includes('in process'));
  });
});
