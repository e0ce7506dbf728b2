import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { BATCH_PATH, checkStatusBatch, unknownIds } from './batch-requests.ts';
import { createFastClient, type FastClient } from './fast-client.ts';
import { createRandom } from './random.ts';

/** docs/contract.md 8.1: a batch counts as one request for each 10 IDs or part of it; as one if it is refused. */

const WINDOW_MS = 60_000;

let service: TestService;
let client: FastClient;
/** The clock of the limits stands still unless a test moves it. */
let clockMs = 1_000_000.25;

before(async () => {
  service = await startTestService({ rails: [], limitClock: () => clockMs });
  client = createFastClient(service.url);
});
after(async () => {
  await client?.close();
  await service?.close();
});

let clients = 0;
const newToken = async (limit: number): Promise<string> => {
  const name = `batch-limit-${(clients += 1)}`;
  return (await service.addClient(name, ['status:read'], { 'check-status': limit })).token;
};

const batchOf = (count: number, token: string): Promise<Answer> =>
  checkStatusBatch(service, { ids: unknownIds(count) }, { token });
const single = (token: string): Promise<Answer> => service.get('/api/v1/check-status/NONE', { token });
const rateLimit = ({ headers }: Answer): string | null => headers.get('ratelimit');

suite('a batch counts', () => {
  for (const [ids, cost] of [
    [1, 1],
    [9, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [91, 10],
    [100, 10],
  ] as const) {
    test(`${ids} IDs count as ${cost}, which RateLimit shows`, async () => {
      const token = await newToken(120);
      const answer = await batchOf(ids, token);
      assertSuccess(answer);
      assert.equal(answer.headers.get('ratelimit-policy'), '"check-status";q=120;w=60');
      assert.equal(rateLimit(answer), `"check-status";r=${120 - cost};t=60`);
      // Batches and both forms of check-status share one limit.
      assert.equal(rateLimit(await single(token)), `"check-status";r=${119 - cost};t=60`);
    });
  }

  test('the same ID more than once, and invalid ones, like any other', async () => {
    const ids = [...Array<string>(6).fill('same'), ...Array<string>(5).fill('')];
    const answer = await checkStatusBatch(service, { ids }, { token: await newToken(120) });
    assert.equal(rateLimit(answer), '"check-status";r=118;t=60');
  });

  test('a request that fails after the limit as one: it cannot be repeated without end', async () => {
    const token = await newToken(5);
    const send = (body: string, headers: Record<string, string> = {}) =>
      checkStatusBatch(service, body, { token, headers });
    const failures = [
      [await send('{'), 'INVALID_FORMAT'],
      [await send('{"ids":[1]}'), 'INVALID_FORMAT'],
      [await send(' '.repeat(170_000)), 'PAYLOAD_TOO_LARGE'],
      [await send('{}', { 'content-type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE'],
      [await send('{}', { accept: 'text/html' }), 'NOT_ACCEPTABLE'],
      [await send('{'), 'RATE_LIMIT_EXCEEDED'],
    ] as const;
    for (const [index, [answer, code]] of failures.entries()) {
      assertError(answer, code);
      assert.equal(rateLimit(answer), `"check-status";r=${Math.max(4 - index, 0)};t=60`);
    }
  });

  test('not without the scope', async () => {
    const { token } = await service.addClient('batch-forbidden', ['account:check'], { 'check-status': 5 });
    const answer = await batchOf(100, token);
    assertError(answer, 'FORBIDDEN');
    assert.equal(rateLimit(answer), '"check-status";r=5;t=0');
  });
});

suite('a batch over the limit', () => {
  /** Regression: it counted nothing, so a client could have the service read large bodies without end. */
  test('is refused as a whole, counts as one, and says how many are left', async () => {
    const token = await newToken(12);
    for (let turn = 0; turn < 3; turn += 1) await single(token);
    for (const left of [8, 7, 6, 5, 4]) {
      const answer = await batchOf(100, token);
      assertError(answer, 'RATE_LIMIT_EXCEEDED', new RegExp(`counts as 10, and ${left} are left`));
      assert.equal(rateLimit(answer), `"check-status";r=${left};t=60`);
    }
    assertSuccess(await batchOf(40, token));
    assertError(await single(token), 'RATE_LIMIT_EXCEEDED');
  });

  test('is refused before its body is read when no request is left: Retry-After is the time until one is', async () => {
    const token = await newToken(2);
    await single(token);
    clockMs += 10_000;
    await single(token);
    for (const body of ['{', JSON.stringify({ ids: unknownIds(20) })]) {
      const answer = await checkStatusBatch(service, body, { token });
      assertError(answer, 'RATE_LIMIT_EXCEEDED');
      assert.equal(answer.headers.get('retry-after'), '50');
    }
  });

  test('Retry-After is the time until the whole batch would be admitted, and t until one request is', async () => {
    const startMs = clockMs;
    for (const [ids, retryAfter] of [
      [20, '40'],
      [30, '40'],
      [40, '50'],
      [60, '50'],
      [61, '60'],
      [100, '60'],
    ] as const) {
      const token = await newToken(10);
      for (const seconds of [0, 10, 20]) {
        clockMs = startMs + seconds * 1_000;
        await batchOf(30, token);
      }
      // Nine of ten are used: three leave at 60 s, three at 70 s, three at 80 s. The refused batch is the tenth.
      const answer = await batchOf(ids, token);
      assertError(answer, 'RATE_LIMIT_EXCEEDED');
      assert.equal(answer.headers.get('retry-after'), retryAfter, `${ids} IDs`);
      assert.equal(rateLimit(answer), '"check-status";r=0;t=40');
      clockMs = startMs + (20 + Number(retryAfter)) * 1_000;
      assertSuccess(await batchOf(ids, token));
    }
  });

  test('a batch that counts as more than the whole limit is told so, and to wait helps nothing', async () => {
    const answer = await batchOf(31, await newToken(3));
    assertError(answer, 'RATE_LIMIT_EXCEEDED', /counts as 4, and your limit is 3 a minute: send fewer IDs/);
    assert.equal(answer.headers.get('retry-after'), '60');
    assert.equal(rateLimit(answer), '"check-status";r=2;t=60');
  });

  test('of batches at the same time, no more are admitted than the limit allows', async () => {
    const token = await newToken(120);
    const request = {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ids: unknownIds(65) }),
    };
    const answers = await Promise.all(Array.from({ length: 60 }, () => client.send(BATCH_PATH, request)));
    const admitted = answers.filter(({ status }) => status === 200).length;
    // Each counts as one before its cost of seven is known.
    assert.ok(admitted >= 10 && admitted <= 17, `${admitted} are admitted`);
    const [, left = ''] = /r=(\d+)/.exec(rateLimit(await single(token)) ?? '') ?? [];
    assert.ok(7 * admitted + Number(left) <= 120, `${admitted} are admitted, and ${left} are left`);
  });
});

/** LIMITS_SEED repeats a run. */
test('batches and single requests in random order: no 60-second window has more than 120', async (t) => {
  const seed = Number(process.env['LIMITS_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`LIMITS_SEED=${seed}`);
  const random = createRandom(seed);
  const token = await newToken(120);
  /** The time of each counted request; a batch has several. */
  const countedMs: number[] = [];
  let refused = 0;
  for (let turn = 0; turn < 600; turn += 1) {
    clockMs += random() < 0.9 ? random() * 500 : random() * 20_000;
    const ids = random() < 0.5 ? null : 1 + Math.floor(random() * 100);
    const cost = ids === null ? 1 : Math.ceil(ids / 10);
    const inWindow = countedMs.filter((time) => clockMs - time < WINDOW_MS);
    const isAdmitted = inWindow.length + cost <= 120;
    const answer = await (ids === null ? single(token) : batchOf(ids, token));
    const context = `seed ${seed}, turn ${turn}: ${cost} with ${inWindow.length} counted`;
    assert.equal(answer.status === 429, !isAdmitted, context);
    // Where no request is left, the batch is refused before its cost is known. Otherwise it counts as one.
    const counted = isAdmitted ? cost : Math.min(120 - inWindow.length, 1);
    countedMs.push(...Array<number>(counted).fill(clockMs));
    if (isAdmitted) continue;
    refused += 1;
    const inWindowNow = countedMs.filter((time) => clockMs - time < WINDOW_MS);
    const known = counted === 0 ? 1 : cost;
    const leaves = inWindowNow[inWindowNow.length + known - 121] ?? assert.fail(context);
    const retryAfter = String(Math.ceil((leaves + WINDOW_MS - clockMs) / 1000));
    assert.equal(answer.headers.get('retry-after'), retryAfter, context);
  }
  for (const [index, time] of countedMs.entries()) {
    const overflow = countedMs[index + 120];
    assert.ok(overflow === undefined || overflow - time >= WINDOW_MS, `seed ${seed}: 121 from ${time} ms on`);
  }
  assert.ok(refused > 20, `only ${refused} were refused`);
});
