import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { createFastClient, type FastClient } from './fast-client.ts';
import { createRandom } from './random.ts';

/**
 * docs/contract.md 8.1: exact in any 60-second window. Three minutes by the limits' clock, thousands of
 * requests at random moments; an oracle that remembers every admitted request tells what each answer must be.
 * LIMITS_SEED repeats a run.
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
    ask: (token: string) => client.send('/api/v1/check-status/NONE', { headers: { authorization: `Bearer ${token}` } }),
  },
  // Judged after the limit and refused before the bank: it counts, and costs no inquiry.
  'check-account': {
    limit: 100,
    ask: (token: string) =>
      client.send('/api/v1/check-account', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"bank_code":"NOPE"}',
      }),
  },
} as const;

const admittedLast = (one: Answer, other: Answer): number => Number(other.status === 429) - Number(one.status === 429);

/** Bursts, pauses, a steady stream, and moments that fall exactly on the edge of a window. */
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

for (const [operation, { limit, ask }] of Object.entries(OPERATIONS)) {
  test(`${operation}: no 60-second window of three minutes holds more than ${limit}, and Retry-After is exact`, async (t) => {
    const seed = Number(process.env['LIMITS_SEED'] ?? randomInt(2 ** 31));
    t.diagnostic(`LIMITS_SEED=${seed}`);
    const random = createRandom(seed);
    const { token } = await service.addClient(`over-time-${operation}`, ['status:read', 'account:check'], {});
    clockMs = 12_345.678;
    // Waiting as told does not count towards the three minutes.
    let endMs = clockMs + RUN_MS;
    const admittedMs: number[] = [];
    let asked = 0;

    /** How long the oracle says a request has to wait now; 0 when it is admitted. */
    const waitMs = (): number => {
      const oldest = admittedMs.at(-limit);
      return oldest === undefined ? 0 : Math.max(WINDOW_MS - (clockMs - oldest), 0);
    };
    const check = (answer: Answer, context: string): void => {
      asked += 1;
      const wait = waitMs();
      assert.equal(answer.status === 429, wait > 0, `${context}: waits ${wait} ms, got ${answer.status}`);
      const retryAfter = wait > 0 ? String(Math.ceil(wait / 1000)) : null;
      assert.equal(answer.headers.get('retry-after'), retryAfter, context);
      if (wait === 0) admittedMs.push(clockMs);
    };

    // Three minutes at least, and on until enough was asked: how fast time passes is up to the seed.
    // oxlint-disable-next-line no-unmodified-loop-condition -- `check` counts
    while (clockMs < endMs || asked <= REQUESTS_MIN) {
      clockMs = nextMoment(random, clockMs, admittedMs);
      const burst = Array.from({ length: random() < 0.1 ? 40 : 1 + Math.floor(random() * 5) }, () => ask(token));
      const answers = await Promise.all(burst);
      // Within a moment the order does not matter: those admitted come first.
      for (const answer of answers.toSorted(admittedLast).toReversed()) {
        check(answer, `seed ${seed}, at ${clockMs} ms`);
      }
      const refused = answers.find(({ status }) => status === 429);
      if (refused !== undefined && random() < 0.005) await waitAsTold(refused);
    }
    const [last] = (await Promise.all(Array.from({ length: limit + 1 }, () => ask(token)))).toSorted(admittedLast);
    assert.ok(last !== undefined);
    const leftNow = limit - admittedMs.filter((time) => clockMs - time < WINDOW_MS).length;
    admittedMs.push(...Array.from({ length: leftNow }, () => clockMs));
    await waitAsTold(last);

    /** A request a second earlier than told is refused; one at the time told is admitted. */
    async function waitAsTold(refused: Answer): Promise<void> {
      const seconds = Number(refused.headers.get('retry-after'));
      const refusedMs = clockMs;
      for (const [told, isRefused] of [
        [seconds - 1, true],
        [seconds, false],
      ] as const) {
        clockMs = refusedMs + told * 1000;
        const answer = await ask(token);
        assert.equal(answer.status === 429, isRefused, `seed ${seed}, ${told} s after ${refusedMs} ms`);
        check(answer, `seed ${seed}, ${told} s after ${refusedMs} ms`);
      }
      endMs += clockMs - refusedMs;
    }

    assert.ok(admittedMs.length > 2 * limit, `only ${admittedMs.length} were admitted`);
    for (const [index, time] of admittedMs.entries()) {
      const overflow = admittedMs[index + limit];
      assert.ok(
        overflow === undefined || overflow - time >= WINDOW_MS,
        `seed ${seed}: ${limit + 1} from ${time} ms on`,
      );
    }
    t.diagnostic(`${asked} requests, ${admittedMs.length} admitted`);
  });
}
