import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { createFastClient, type FastClient } from './fast-client.ts';
import { createRandom } from './random.ts';

/**
 * docs/contract.md 8.1: the limit is exact in any window of 60 seconds. The test sends thousands of requests at random
 * moments over three minutes of the limiter's clock. A model that stores every admitted request says what each answer
 * must be. LIMITS_SEED repeats a run.
 */

const WINDOW_MS = 60_000;
const RUN_MS = 180_000;
const REQUESTS_MIN = 2_000;

let service: TestService;
let client: FastClient;
let clockMs = 0;

before(async () => {
  service = await startTestService({ limitClock: () => clockMs });
  client = createFastClient(service.url);
});
after(async () => {
  await client?.close();
  await service?.close();
});

const OPERATIONS = {
  'check-status': {
    limit: 120,
    send: (token: string) =>
      client.send('/api/v1/check-status/NONE', { headers: { authorization: `Bearer ${token}` } }),
  },
  // Fails after the rate limit and before the bank: it counts, and costs no inquiry.
  'check-account': {
    limit: 100,
    send: (token: string) =>
      client.send('/api/v1/check-account', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"bank_code":"NOPE"}',
      }),
  },
} as const;

const admittedLast = (one: Answer, other: Answer): number => Number(other.status === 429) - Number(one.status === 429);

/** Bursts, pauses, a steady stream, and moments exactly at the end of a window. */
function nextMoment(random: () => number, nowMs: number, admittedMs: readonly number[]): number {
  const kind = random();
  const oldestMs = admittedMs.find((time) => time + WINDOW_MS > nowMs);
  if (kind < 0.25 && oldestMs !== undefined) {
    const edgeMs = oldestMs + WINDOW_MS + (random() < 0.5 ? 0 : -0.5);
    if (edgeMs >= nowMs && edgeMs - nowMs < 5_000) return edgeMs;
  }
  if (kind < 0.85) return nowMs + random() * 200;
  return kind < 0.97 ? nowMs + random() * 3_000 : nowMs + random() * 15_000;
}

for (const [operation, { limit, send }] of Object.entries(OPERATIONS)) {
  test(`${operation}: no 60-second window has more than ${limit} requests, and Retry-After is exact`, async (t) => {
    const seed = Number(process.env['LIMITS_SEED'] ?? randomInt(2 ** 31));
    t.diagnostic(`LIMITS_SEED=${seed}`);
    const random = createRandom(seed);
    const { token } = await service.addClient(`over-time-${operation}`, ['status:read', 'account:check'], {});
    clockMs = 12_345.678;
    // Time spent waiting for Retry-After does not count towards the three minutes.
    let endMs = clockMs + RUN_MS;
    const admittedMs: number[] = [];
    let requestCount = 0;

    /** The time until the model admits a request; 0 when it admits one now. */
    const waitMs = (): number => {
      const oldest = admittedMs.at(-limit);
      return oldest === undefined ? 0 : Math.max(WINDOW_MS - (clockMs - oldest), 0);
    };
    const check = (answer: Answer, context: string): void => {
      requestCount += 1;
      const wait = waitMs();
      assert.equal(answer.status === 429, wait > 0, `${context}: waits ${wait} ms, got ${answer.status}`);
      const retryAfter = wait > 0 ? String(Math.ceil(wait / 1000)) : null;
      assert.equal(answer.headers.get('retry-after'), retryAfter, context);
      if (wait === 0) admittedMs.push(clockMs);
    };

    // At least three minutes, and until there were enough requests: the seed decides how fast time passes.
    // oxlint-disable-next-line no-unmodified-loop-condition -- `check` counts
    while (clockMs < endMs || requestCount <= REQUESTS_MIN) {
      clockMs = nextMoment(random, clockMs, admittedMs);
      const burst = Array.from({ length: random() < 0.1 ? 40 : 1 + Math.floor(random() * 5) }, () => send(token));
      const answers = await Promise.all(burst);
      // The order within one moment does not matter: the admitted ones are checked first.
      for (const answer of answers.toSorted(admittedLast).toReversed()) {
        check(answer, `seed ${seed}, at ${clockMs} ms`);
      }
      const rejected = answers.find(({ status }) => status === 429);
      if (rejected !== undefined && random() < 0.005) await followRetryAfter(rejected);
    }
    const [last] = (await Promise.all(Array.from({ length: limit + 1 }, () => send(token)))).toSorted(admittedLast);
    assert.ok(last !== undefined);
    const leftNow = limit - admittedMs.filter((time) => clockMs - time < WINDOW_MS).length;
    admittedMs.push(...Array.from({ length: leftNow }, () => clockMs));
    await followRetryAfter(last);

    /** A request one second before Retry-After has passed is rejected; one after it is admitted. */
    async function followRetryAfter(rejected: Answer): Promise<void> {
      const retryAfterSeconds = Number(rejected.headers.get('retry-after'));
      const rejectedMs = clockMs;
      for (const [seconds, isRejected] of [
        [retryAfterSeconds - 1, true],
        [retryAfterSeconds, false],
      ] as const) {
        clockMs = rejectedMs + seconds * 1000;
        const answer = await send(token);
        assert.equal(answer.status === 429, isRejected, `seed ${seed}, ${seconds} s after ${rejectedMs} ms`);
        check(answer, `seed ${seed}, ${seconds} s after ${rejectedMs} ms`);
      }
      endMs += clockMs - rejectedMs;
    }

    assert.ok(admittedMs.length > 2 * limit, `only ${admittedMs.length} were admitted`);
    for (const [index, time] of admittedMs.entries()) {
      const overflow = admittedMs[index + limit];
      assert.ok(
        overflow === undefined || overflow - time >= WINDOW_MS,
        `seed ${seed}: ${limit + 1} from ${time} ms on`,
      );
    }
    t.diagnostic(`${requestCount} requests, ${admittedMs.length} admitted`);
  });
}
