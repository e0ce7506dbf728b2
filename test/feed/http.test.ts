import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createIds, only, post, reportOf } from './harness.ts';

let service: TestService;
const newId = createIds('TH');

before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const newUpdate = (): Record<string, unknown> => {
  const id = newId();
  return statusUpdate({ transaction_id: id, reference_id: id });
};
const newLine = (): string => JSON.stringify(newUpdate());
const JSON_TYPE = { type: 'application/json' };

suite('access to the feed', () => {
  test('a token with feed:write: 200', async () => {
    assert.equal((await post(service, newLine())).status, 200);
  });

  test('no token, or an invalid one: 401', async () => {
    for (const token of [null, 'x', `${service.core.token}x`]) {
      const answer = await post(service, newLine(), { token });
      assert.deepEqual([answer.status, answer.json.error_code], [401, 'UNAUTHORIZED']);
    }
  });

  test('the token of a client of the public API: 403, and nothing is stored', async () => {
    const update = newUpdate();
    for (const { token } of [service.alpha, service.beta]) {
      const answer = await post(service, JSON.stringify(update), { token });
      assert.deepEqual([answer.status, answer.json.error_code], [403, 'FORBIDDEN']);
      assert.match(answer.headers.get('www-authenticate') ?? '', /error="insufficient_scope", scope="feed:write"/);
    }
    const stored = await service.get(`/api/v1/check-status/${String(update['transaction_id'])}`);
    assert.equal(stored.status, 404);
  });

  test("the feed's token on the operations of the public API: 403", async () => {
    const { token } = service.core;
    assert.equal((await service.get('/api/v1/check-status/TB0000000001', { token })).status, 403);
    assert.equal((await service.checkAccount({}, { token })).status, 403);
  });

  test('the public listener has no such route: 404', async () => {
    const answer = await send(`${service.url}/feed/v1/transactions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service.core.token}` },
      body: newLine(),
    });
    assert.deepEqual([answer.status, answer.json.error_code], [404, 'NOT_FOUND']);
  });

  test('the source of a status update record is the client that fed it', async () => {
    const other = await service.addClient('second-core', ['feed:write']);
    const update = newUpdate();
    await post(service, JSON.stringify(update), { token: other.token });
    const [stored] = await service.app.database.query<{ source: string }>(
      "select source from tiba.status_updates where transaction_id = $1 and source <> 'clock'",
      [update['transaction_id']],
    );
    assert.equal(stored?.source, 'second-core');
  });
});

suite('JSON', () => {
  test('one transaction', async () => {
    assert.deepEqual(reportOf(await post(service, newLine(), JSON_TYPE)), only({ inserted: 1 }));
  });

  test('an array, its positions counted from 1', async () => {
    const answer = await post(service, `[${newLine()},{},${newLine()},7]`, JSON_TYPE);
    const { inserted, rejected } = reportOf(answer);
    assert.deepEqual([inserted, rejected.map(({ line }) => line)], [2, [2, 4]]);
    assert.equal(answer.json.message, 'Feed applied, but not every line: see conflicts and rejected');
  });

  test('an empty array is an empty feed', async () => {
    const answer = await post(service, '[]', JSON_TYPE);
    assert.deepEqual(reportOf(answer), only({}));
    assert.equal(answer.json.message, 'Feed applied');
  });

  test('more than a batch', async () => {
    const answer = await post(service, JSON.stringify(Array.from({ length: 1_201 }, newUpdate)), JSON_TYPE);
    assert.deepEqual(reportOf(answer), only({ inserted: 1_201 }));
  });

  test('1 MiB is accepted, and more is 413', async () => {
    const padded = (length: number) => {
      const line = newLine();
      return `${line}${' '.repeat(length - line.length)}`;
    };
    assert.equal((await post(service, padded(1024 * 1024), JSON_TYPE)).status, 200);
    const answer = await post(service, padded(1024 * 1024 + 1), JSON_TYPE);
    assert.deepEqual([answer.status, answer.json.error_code], [413, 'PAYLOAD_TOO_LARGE']);
  });

  test('an invalid body is INVALID_FORMAT as a whole', async () => {
    for (const body of [
      '',
      '{',
      '[',
      `${newLine()}\n${newLine()}`,
      '{"amount":1,"amount":2}',
      Buffer.from([0x22, 0xff, 0x22]),
    ]) {
      const answer = await post(service, body, JSON_TYPE);
      assert.deepEqual([answer.status, answer.json.error_code], [400, 'INVALID_FORMAT']);
    }
  });

  test('nesting beyond the stack is INVALID_FORMAT, and the service keeps working', async () => {
    const answer = await post(service, '['.repeat(500_000) + ']'.repeat(500_000), JSON_TYPE);
    assert.deepEqual([answer.status, answer.json.error_code], [400, 'INVALID_FORMAT']);
    assert.equal((await post(service, newLine())).status, 200);
  });
});

suite('NDJSON', () => {
  test('lines may end in CRLF or LF, the last one also without; blank lines are counted and skipped', async () => {
    const lines = [newLine(), '', ' \t ', newLine(), '{', newLine()];
    for (const end of ['\n', '\r\n']) {
      for (const last of ['', end, `${end}${end}`]) {
        const body = lines.map((line) => (line === '{' ? line : line.replace(/TH\d{10}/g, newId)));
        const { inserted, rejected } = reportOf(await post(service, body.join(end) + last));
        assert.deepEqual([inserted, rejected], [3, [{ line: 5, reason: 'not valid JSON' }]]);
      }
    }
  });

  test('an empty body is an empty feed', async () => {
    for (const body of ['', '\n', '\r\n\r\n', '   ']) assert.deepEqual(reportOf(await post(service, body)), only({}));
  });

  test('may be longer than the limit of JSON', async () => {
    const body = Array.from({ length: 4_000 }, newLine).join('\n');
    assert.ok(body.length > 1024 * 1024);
    assert.deepEqual(reportOf(await post(service, body)), only({ inserted: 4_000 }));
  });

  // Regression: one statement of 30 MB came too close to its timeout, and a repeated feed failed again.
  test('long lines are stored in smaller batches', async () => {
    const note = 'x1y2'.repeat(15_000);
    const body = Array.from({ length: 120 }, () => JSON.stringify({ ...newUpdate(), note })).join('\n');
    assert.deepEqual(reportOf(await post(service, body)), only({ inserted: 120 }));
  });

  test('the media type may carry a charset and capitals', async () => {
    for (const type of ['application/x-ndjson; charset=utf-8', 'Application/X-NDJSON']) {
      assert.deepEqual(reportOf(await post(service, newLine(), { type })), only({ inserted: 1 }));
    }
  });
});

suite('other requests', () => {
  test('other media types are 415', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-ndjsonx',
      'application/jsonl',
      'text/csv',
      null,
    ]) {
      const answer = await post(service, newLine(), { type });
      assert.deepEqual([answer.status, answer.json.error_code], [415, 'UNSUPPORTED_MEDIA_TYPE'], String(type));
      assert.match(answer.json.message, /application\/json or application\/x-ndjson/);
    }
  });

  test('no body at all is INVALID_FORMAT, and says what to send', async () => {
    const answer = await post(service, '', { type: null });
    assert.deepEqual([answer.status, answer.json.error_code], [400, 'INVALID_FORMAT']);
    assert.match(answer.json.message, /application\/x-ndjson/);
  });

  test('other methods are 405', async () => {
    const headers = { authorization: `Bearer ${service.core.token}` };
    const answer = await send(`${service.operatorUrl}/feed/v1/transactions`, { headers });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST']);
  });
});

test('the metrics count every line once, by its outcome', async () => {
  const count = async (): Promise<Record<string, number>> => {
    const text = await (await fetch(`${service.operatorUrl}/metrics`)).text();
    const lines = text.matchAll(/^tiba_feed_lines_total\{outcome="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries(lines.map(([, outcome, value]) => [outcome, Number(value)]));
  };
  const first = newUpdate();
  const id = first['transaction_id'];
  const before = await count();
  await post(
    service,
    [
      first,
      first,
      { client_id: 'alpha', transaction_id: id, status: 'SUCCESS' },
      { client_id: 'alpha', transaction_id: id, status: 'SUCCESS', amount: '1' },
      { client_id: 'alpha', transaction_id: newId(), status: 'SUCCESS' },
      {},
    ]
      .map((each) => JSON.stringify(each))
      .join('\n'),
  );
  const counted = await count();
  const grown = Object.entries(counted).map(([outcome, value]) => [outcome, value - (before[outcome] ?? 0)]);
  assert.deepEqual(Object.fromEntries(grown), { inserted: 1, unchanged: 1, advanced: 1, conflict: 1, rejected: 2 });
});

// Regression: rejected lines cause no I/O, and a long run of them blocked every other request for seconds.
test('a feed in which every line is wrong does not block other requests', async () => {
  const pending = new AbortController();
  const wrong = post(service, `[${'{},'.repeat(60_000)}{}]`, JSON_TYPE).finally(() => pending.abort());
  let answered = 0;
  for (; !pending.signal.aborted; answered += 1) {
    assert.equal((await fetch(`${service.operatorUrl}/livez`)).status, 200);
  }
  assert.equal((await wrong).status, 200);
  assert.ok(answered > 10, `${answered} requests were answered during the feed`);
});
