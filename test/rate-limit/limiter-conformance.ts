import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Decision, type Limiter, WINDOW_MS } from '../../apps/server/src/rate-limit/limiter.ts';

/** A new limiter that has counted nothing yet, and its clock. It shares no keys with other limiters. */
export interface LimiterUnderTest {
  readonly limiter: Limiter;
  /** Whole milliseconds. */
  readonly advance: (ms: number) => unknown;
  readonly close?: () => Promise<void>;
}

/** FC_SEED repeats a run. Each run prints its seed. */
const SEED = Number(process.env['FC_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Tests a guarantee with a limiter of its own. */
type Guarantee = (name: string, check: (under: LimiterUnderTest) => Promise<void>) => void;

/** The guarantees of every implementation of `Limiter` (docs/contract.md 8.1). */
export function limiterConformance(
  implementation: string,
  create: () => LimiterUnderTest | Promise<LimiterUnderTest>,
  { runs = 200 } = {},
): void {
  const guarantees: Guarantee = (name, check) => {
    it(name, async () => {
      const under = await create();
      try {
        await check(under);
      } finally {
        await under.close?.();
      }
    });
  };

  describe(`the limiter ${implementation}`, () => {
    admissionGuarantees(guarantees);
    limitGuarantees(guarantees);
    keyGuarantees(guarantees);
    costGuarantees(guarantees);

    it('agrees with the model, a plain list of times', async (context) => {
      context.diagnostic(`FC_SEED=${SEED}`);
      await fc.assert(
        fc.asyncProperty(fc.array(step(), { minLength: 1, maxLength: 300 }), async (steps) => {
          const under = await create();
          try {
            await compareWithModel(under, steps);
          } finally {
            await under.close?.();
          }
        }),
        { seed: SEED, numRuns: runs },
      );
    });
  });
}

/** The limit in any window. */
function admissionGuarantees(guarantees: Guarantee): void {
  for (const limit of [1, 2, 100, 120, 1_000]) {
    guarantees(`admits exactly ${limit} of a burst`, async (under) => {
      const decisions = await take(under, limit, limit + 5);
      assert.deepEqual(
        decisions.map((each) => each.admitted),
        decisions.map((_each, index) => index < limit),
      );
    });
  }

  guarantees('admits exactly the limit of requests at the same time', async (under) => {
    const decisions = await Promise.all(Array.from({ length: 400 }, async () => under.limiter.take('key', 120)));
    assert.equal(admitted(decisions), 120);
  });

  guarantees('counts down what remains', async (under) => {
    const remaining = (await take(under, 3, 5)).map((each) => each.remaining);
    assert.deepEqual(remaining, [2, 1, 0, 0, 0]);
  });

  guarantees('does not admit two bursts around any moment', async (under) => {
    // A counter per minute would admit 240 within these two milliseconds.
    await under.advance(WINDOW_MS - 1);
    assert.equal(admitted(await take(under, 120, 200)), 120);
    await under.advance(1);
    assert.equal(admitted(await take(under, 120, 200)), 0);
    await under.advance(WINDOW_MS - 2);
    assert.equal(admitted(await take(under, 120, 200)), 0);
    await under.advance(1);
    assert.equal(admitted(await take(under, 120, 200)), 120);
  });

  guarantees(
    'admits the next request exactly one window after the one it replaces, and no millisecond earlier',
    async (under) => {
      await take(under, 2);
      await under.advance(10_000);
      await take(under, 2);
      await under.advance(WINDOW_MS - 10_001);
      assert.equal(admitted(await take(under, 2)), 0);
      await under.advance(1);
      assert.equal(admitted(await take(under, 2, 3)), 1);
      await under.advance(9_999);
      assert.equal(admitted(await take(under, 2)), 0);
      await under.advance(1);
      assert.equal(admitted(await take(under, 2, 3)), 1);
    },
  );

  guarantees('does not count a rejected request', async (under) => {
    await take(under, 5, 5);
    for (let second = 0; second < 59; second += 1) {
      await under.advance(1_000);
      assert.equal(admitted(await take(under, 5, 10)), 0);
    }
    await under.advance(1_000);
    assert.equal(admitted(await take(under, 5, 10)), 5);
  });
}

/** The time of the next admission, and limits that change. */
function limitGuarantees(guarantees: Guarantee): void {
  guarantees('says when a rejected request would be admitted, exact to the millisecond', async (under) => {
    await take(under, 2);
    await under.advance(1_234);
    await take(under, 2);
    const [rejected] = await take(under, 2);
    assert.deepEqual(rejected, { admitted: false, remaining: 0, resetMs: WINDOW_MS - 1_234 });
    await under.advance(WINDOW_MS - 1_234 - 1);
    assert.equal(admitted(await take(under, 2)), 0);
    await under.advance(1);
    assert.equal(admitted(await take(under, 2)), 1);
  });

  guarantees('is exact when the limit was lowered: the surplus has to leave the window first', async (under) => {
    for (let time = 0; time < 10; time += 1) {
      await take(under, 10);
      await under.advance(100);
    }
    const [rejected] = await take(under, 3);
    // Of the ten, the eighth must leave before the next is admitted: it came at 700 ms, and it is 1,000 ms now.
    assert.deepEqual(rejected, { admitted: false, remaining: 0, resetMs: WINDOW_MS - 300 });
    await under.advance(WINDOW_MS - 301);
    assert.equal(admitted(await take(under, 3)), 0);
    await under.advance(1);
    assert.equal(admitted(await take(under, 3, 3)), 1);
  });

  guarantees('admits more at once when the limit is raised', async (under) => {
    await take(under, 3, 5);
    assert.equal(admitted(await take(under, 500, 600)), 497);
  });

  guarantees('admits nothing at a limit of 0, and says to wait a whole window', async (under) => {
    for (const decision of await take(under, 0, 3)) {
      assert.deepEqual(decision, { admitted: false, remaining: 0, resetMs: WINDOW_MS });
    }
    await under.advance(WINDOW_MS);
    assert.equal(admitted(await take(under, 0, 3)), 0);
    await take(under, 1);
    await under.advance(20_000);
    assert.deepEqual(await under.limiter.peek('key', 0), { admitted: false, remaining: 0, resetMs: WINDOW_MS });
  });
}

/** Requests that count as several. */
function costGuarantees(guarantees: Guarantee): void {
  guarantees('counts a request as many, all or none', async ({ limiter }) => {
    const costs = [7, 4, 3, 1];
    const decisions: Decision[] = [];
    for (const cost of costs) decisions.push(await limiter.take('key', 10, cost));
    assert.deepEqual(
      decisions.map(({ admitted, remaining }) => [admitted, remaining]),
      [
        [true, 3],
        [false, 3],
        [true, 0],
        [false, 0],
      ],
    );
  });

  guarantees('says when a request that counts as many would be admitted, exact to the millisecond', async (under) => {
    const { limiter, advance } = under;
    await limiter.take('key', 10, 4);
    await advance(1_000);
    await limiter.take('key', 10, 4);
    for (const [cost, resetMs] of [
      [3, WINDOW_MS - 1_000],
      [6, WINDOW_MS - 1_000],
      [7, WINDOW_MS],
      [10, WINDOW_MS],
    ] as const) {
      assert.deepEqual(await limiter.take('key', 10, cost), { admitted: false, remaining: 2, resetMs });
    }
    await advance(WINDOW_MS - 1_001);
    assert.equal((await limiter.take('key', 10, 6)).admitted, false);
    await advance(1);
    assert.equal((await limiter.take('key', 10, 6)).admitted, true);
  });

  guarantees(
    'never admits a request that counts as more than the limit, and says to wait a whole window',
    async (under) => {
      const { limiter, advance } = under;
      const refused = { admitted: false, resetMs: WINDOW_MS };
      assert.deepEqual(await limiter.take('key', 3, 4), { ...refused, remaining: 3 });
      await take(under, 3);
      await advance(5_000);
      assert.deepEqual(await limiter.take('key', 3, 4), { ...refused, remaining: 2 });
    },
  );

  guarantees('admits exactly the limit of costly requests at the same time', async ({ limiter }) => {
    const decisions = await Promise.all(Array.from({ length: 60 }, async () => limiter.take('key', 120, 7)));
    assert.equal(admitted(decisions), 17);
  });
}

/** Keys, peeking, and long runs. */
function keyGuarantees(guarantees: Guarantee): void {
  guarantees('counts each key separately, whatever its characters', async (under) => {
    const keys = ['', 'a', 'A', 'a ', '__proto__', 'constructor', 'check-status a', 'check-account a', 'é', 'e\u0301'];
    for (const key of keys) assert.equal(admitted(await take(under, 3, 5, key)), 3, JSON.stringify(key));
  });

  guarantees('peeks without counting', async (under) => {
    assert.deepEqual(await under.limiter.peek('key', 2), { admitted: true, remaining: 2, resetMs: 0 });
    for (let time = 0; time < 10; time += 1) await under.limiter.peek('key', 2);
    assert.deepEqual((await take(under, 2))[0], { admitted: true, remaining: 1, resetMs: WINDOW_MS });
    await under.advance(500);
    assert.deepEqual(await under.limiter.peek('key', 2), { admitted: true, remaining: 1, resetMs: WINDOW_MS - 500 });
    await take(under, 2);
    assert.deepEqual(await under.limiter.peek('key', 2), { admitted: false, remaining: 0, resetMs: WINDOW_MS - 500 });
  });

  guarantees('counts a growing number of requests exactly over several windows', async (under) => {
    const steps = Array.from({ length: 240 }, (_each, index) => ({
      advanceMs: 997,
      key: 'key',
      limit: 100_000,
      times: 1 + Math.floor(index / 12),
      cost: 1,
      peek: false,
    }));
    await compareWithModel(under, steps);
  });
}

async function take({ limiter }: LimiterUnderTest, limit: number, times = 1, key = 'key'): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (let time = 0; time < times; time += 1) decisions.push(await limiter.take(key, limit));
  return decisions;
}

const admitted = (decisions: readonly Decision[]): number => decisions.filter((each) => each.admitted).length;

/**
 * Time passes, then a key is taken (or peeked at) `times` times under a limit that may change from step to step. Each
 * time counts as `cost`.
 */
interface Step {
  readonly advanceMs: number;
  readonly key: string;
  readonly limit: number;
  readonly times: number;
  readonly cost: number;
  readonly peek: boolean;
}

const step = (): fc.Arbitrary<Step> =>
  fc.record({
    // Mostly the critical durations: none, one millisecond, and around a whole window.
    advanceMs: fc.oneof(
      fc.constantFrom(0, 0, 0, 1, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1),
      fc.integer({ min: 0, max: 3_000 }),
      fc.integer({ min: 0, max: 3 * WINDOW_MS }),
    ),
    key: fc.constantFrom('a', 'b'),
    limit: fc.oneof(fc.constantFrom(0, 1, 2, 120), fc.integer({ min: 0, max: 300 })),
    times: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 150 })),
    cost: fc.oneof(fc.constant(1), fc.constant(1), fc.integer({ min: 1, max: 12 })),
    peek: fc.boolean(),
  });

/** Compares with the simplest form of docs/contract.md 8.1: a list of the times of admitted requests. */
async function compareWithModel({ limiter, advance }: LimiterUnderTest, steps: readonly Step[]): Promise<void> {
  let nowMs = 0;
  const lists = new Map<string, number[]>();
  for (const { advanceMs, key, limit, times, cost, peek } of steps) {
    await advance(advanceMs);
    nowMs += advanceMs;
    for (let time = 0; time < times; time += 1) {
      const inWindow = (lists.get(key) ?? []).filter((admittedMs) => nowMs - admittedMs < WINDOW_MS);
      const admitted = inWindow.length + cost <= limit;
      if (admitted && !peek) inWindow.push(...Array<number>(cost).fill(nowMs));
      lists.set(key, inWindow);
      const decision = await (peek ? limiter.peek(key, limit, cost) : limiter.take(key, limit, cost));
      assert.deepEqual(decision, {
        admitted,
        remaining: Math.max(limit - inWindow.length, 0),
        resetMs: resetOf(inWindow, { limit, cost, nowMs, admitted }),
      });
    }
  }
}

interface ModelDecision {
  readonly limit: number;
  readonly cost: number;
  readonly nowMs: number;
  readonly admitted: boolean;
}

function resetOf(inWindow: readonly number[], { limit, cost, nowMs, admitted }: ModelDecision): number {
  if (cost > limit) return WINDOW_MS;
  // Admitted: when the first one leaves the window. Rejected: when enough have left it.
  const leaving = inWindow[admitted ? 0 : inWindow.length + cost - limit - 1];
  return leaving === undefined ? 0 : leaving + WINDOW_MS - nowMs;
}
