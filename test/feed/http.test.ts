import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { after, before, suite, test } from 'node:test';
import zlib from 'node:zlib';
import { whileDatabaseRefuses } from '../support/database-outage.ts';
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

  /** Regression: the message was "Feed applied, but not every line". */
  test('of which nothing is applied: the message says so', async () => {
    const conflicting = newUpdate();
    assert.deepEqual(reportOf(await post(service, JSON.stringify(conflicting))), only({ inserted: 1 }));
    const answer = await post(service, JSON.stringify([{}, { ...conflicting, amount: '1.00' }]), JSON_TYPE);
    const { conflicts, rejected } = reportOf(answer);
    assert.deepEqual([conflicts.length, rejected.length], [1, 1]);
    assert.equal(answer.json.message, 'No line was applied: see conflicts and rejected');
    const unchanged = await post(service, JSON.stringify([{}, conflicting]), JSON_TYPE);
    assert.equal(unchanged.json.message, 'Feed applied, but not every line: see conflicts and rejected');
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
    for (const type of ['application/x-ndjson; charset=utf-8', 'Application/X-NDJSON;charset="UTF-8"']) {
      assert.deepEqual(reportOf(await post(service, newLine(), { type })), only({ inserted: 1 }));
    }
  });
});

suite('compressed bodies', () => {
  const encoded = (encoding: string, type = 'application/x-ndjson') => ({
    type,
    headers: { 'content-encoding': encoding },
  });
  const ENCODERS = { gzip: zlib.gzipSync, zstd: zlib.zstdCompressSync, ZSTD: zlib.zstdCompressSync } as const;

  test('gzip and zstd, of NDJSON and of JSON', async () => {
    for (const [encoding, compress] of Object.entries(ENCODERS)) {
      const lines = Array.from({ length: 1_200 }, newLine).join('\n');
      assert.deepEqual(reportOf(await post(service, compress(lines), encoded(encoding))), only({ inserted: 1_200 }));
      const json = compress(`[${newLine()},${newLine()}]`);
      const answer = await post(service, json, encoded(encoding, 'application/json'));
      assert.deepEqual(reportOf(answer), only({ inserted: 2 }));
    }
    assert.deepEqual(reportOf(await post(service, newLine(), encoded('identity'))), only({ inserted: 1 }));
  });

  test('another encoding, or two: 415, with those that are read', async () => {
    for (const encoding of ['br', 'deflate', 'gzip, zstd', 'constructor', 'x']) {
      const answer = await post(service, newLine(), encoded(encoding));
      assert.deepEqual([answer.status, answer.json.error_code], [415, 'UNSUPPORTED_MEDIA_TYPE'], encoding);
      assert.equal(answer.headers.get('accept-encoding'), 'zstd, gzip');
    }
  });

  test('a body that is not what Content-Encoding says, or is cut off: 400, and the lines before it count', async () => {
    for (const [encoding, compress] of Object.entries(ENCODERS)) {
      const whole = compress(Array.from({ length: 3_000 }, newLine).join('\n'));
      for (const body of [newLine(), whole.subarray(0, -3), whole.subarray(0, whole.length / 2)]) {
        for (const type of ['application/x-ndjson', 'application/json']) {
          const answer = await post(service, body, encoded(encoding, type));
          assert.deepEqual([answer.status, answer.json.error_code], [400, 'INVALID_FORMAT'], `${encoding} ${type}`);
          assert.match(answer.json.message, /compress it again/);
        }
      }
    }
  });

  test('a body that expands to hundreds of times its size: 413, and it costs no memory', async () => {
    const bytes = Buffer.alloc(64 * 1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    for (const [encoding, compress] of Object.entries(ENCODERS)) {
      const bomb = compress(bytes);
      for (const type of ['application/x-ndjson', 'application/json']) {
        const answer = await post(service, bomb, encoded(encoding, type));
        assert.deepEqual([answer.status, answer.json.error_code], [413, 'PAYLOAD_TOO_LARGE'], `${encoding} ${type}`);
      }
    }
    assert.ok(process.memoryUsage().arrayBuffers - before < 48 * 1024 * 1024);
    assert.deepEqual(reportOf(await post(service, newLine())), only({ inserted: 1 }));
  });

  test('a zstd frame whose window needs more memory than RFC 9659 allows: 400', async () => {
    const params = { [zlib.constants.ZSTD_c_windowLog]: 27 };
    const body = zlib.zstdCompressSync(Buffer.alloc(20 * 1024 * 1024, newLine()), { params });
    const answer = await post(service, body, encoded('zstd'));
    assert.deepEqual([answer.status, answer.json.error_code], [400, 'INVALID_FORMAT']);
    assert.match(answer.json.message, /window of more than 8 MiB/);
  });

  // Regression: what follows and is not compressed was dropped, with all compressed lines after it: the feed got 200.
  test('several frames, or members, are one body; with something else after one it is 400', async () => {
    for (const [encoding, compress] of Object.entries(ENCODERS)) {
      const part = (lines = 1) => compress(`${Array.from({ length: lines }, newLine).join('\n')}\n`);
      const whole = Buffer.concat([part(), compress(''), part(2), part()]);
      assert.deepEqual(reportOf(await post(service, whole, encoded(encoding))), only({ inserted: 4 }));
      for (const rest of [[Buffer.alloc(8), part()], [Buffer.from('x')], [Buffer.from(newLine())]]) {
        const answer = await post(service, Buffer.concat([part(), ...rest]), encoded(encoding));
        assert.deepEqual([answer.status, answer.json.error_code], [400, 'INVALID_FORMAT'], encoding);
        assert.match(answer.json.message, /compress it again/);
      }
    }
  });
});

suite('Accept: application/x-ndjson', () => {
  const accept = { accept: 'application/x-ndjson' };

  test('a short feed has the same answer, as one line', async () => {
    const answer = await post(service, `${newLine()}\n{`, { headers: accept });
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson; charset=utf-8');
    assert.ok(answer.text.indexOf('\n') === answer.text.length - 1);
    const { inserted, rejected } = reportOf(answer);
    assert.deepEqual([inserted, rejected], [1, [{ line: 2, reason: 'not valid JSON' }]]);
  });

  test('an error before the first line of progress has its HTTP status', async () => {
    const answer = await post(service, 'x', { headers: { ...accept, 'content-encoding': 'gzip' } });
    assert.deepEqual([answer.status, answer.json.error_code], [400, 'INVALID_FORMAT']);
  });

  /** A feed that stays open: it is answered while it is sent. */
  async function openFeed(headers: Readonly<Record<string, string>> = {}) {
    const request = http.request(`${service.operatorUrl}/feed/v1/transactions`, {
      method: 'POST',
      headers: {
        ...accept,
        ...headers,
        authorization: `Bearer ${service.core.token}`,
        'content-type': 'application/x-ndjson',
      },
    });
    request.write(`${Array.from({ length: 1_000 }, newLine).join('\n')}\n{}\n`);
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    const lines = createInterface({ input: response })[Symbol.asyncIterator]();
    return { request, response, read: async () => JSON.parse((await lines.next()).value ?? 'null') };
  }

  test('a long feed tells how far it is, and what became of it in the last line', async () => {
    const { request, response, read } = await openFeed();
    assert.equal(response.statusCode, 200);
    assert.deepEqual(await read(), {
      lines_read: 1_001,
      inserted: 1_000,
      advanced: 0,
      unchanged: 0,
      conflicts: 0,
      rejected: 1,
    });
    request.end(newLine());
    let last = await read();
    while (!('success' in last)) last = await read();
    assert.deepEqual([last.success, last.data.inserted, last.data.rejected.length], [true, 1_001, 1]);
    assert.equal(await read(), null);
  });

  test('an error after it is the last line, in the envelope', async () => {
    const { request, response, read } = await openFeed({ 'content-encoding': 'identity' });
    await read();
    service.logged.length = 0;
    await whileDatabaseRefuses(service.database, async () => {
      request.end(newLine());
      let last = await read();
      while (!('success' in last)) last = await read();
      assert.deepEqual([last.success, last.error_code], [false, 'SERVICE_UNAVAILABLE']);
      assert.match(last.message, /stored so far: 1000 inserted/);
    });
    assert.equal(response.statusCode, 200);
    assert.ok(service.logged.some(({ errorCode, answer }) => errorCode === 'SERVICE_UNAVAILABLE' && answer));
  });
});

suite('other requests', () => {
  test('other media types and charsets are 415', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-ndjsonx',
      'application/jsonl',
      'text/csv',
      // Regression: the charset was ignored, and the body read as UTF-8.
      'application/x-ndjson; charset=latin1',
      'application/json; charset=utf-16',
      null,
    ]) {
      const answer = await post(service, newLine(), { type });
      assert.deepEqual([answer.status, answer.json.error_code], [415, 'UNSUPPORTED_MEDIA_TYPE'], String(type));
      // Regression: it said "uncompressed", but a compressed feed is read.
      const expected = 'Unsupported media type: send Content-Type: application/json or application/x-ndjson, in UTF-8';
      assert.equal(answer.json.message, expected);
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
