import assert from 'node:assert/strict';
import { beforeEach, suite, test } from 'node:test';
import {
  type AdaptiveConcurrency,
  CONCURRENCY_MAX,
  createAdaptiveConcurrency,
} from '../../apps/server/src/status-inquiry/adaptive-concurrency.ts';

suite('the pace of one bank', () => {
  let pace: AdaptiveConcurrency;
  let changes: boolean[];
  beforeEach(() => {
    changes = [];
    pace = createAdaptiveConcurrency((troubled) => changes.push(troubled));
  });

  /** Begins as many questions as may be, and ends them; how many there were. */
  function round(answered: boolean, nowMs: number): number {
    const places = pace.acquire(1_000, 'reader', nowMs);
    const ends = Array.from({ length: places }, () => pace.start());
    assert.equal(pace.acquire(1, 'reader', nowMs), 0);
    for (const end of ends) end(answered, nowMs);
    return places;
  }

  /** The next moment at which a question may begin, in steps of a tenth of a second. */
  function nextOpen(fromMs: number): number {
    for (let nowMs = fromMs; nowMs <= fromMs + 61_000; nowMs += 100) {
      if (pace.acquire(1, 'reader', nowMs) === 0) continue;
      pace.release(1);
      return nowMs;
    }
    return assert.fail('it never opens again');
  }

  test('is 32 questions at a time; each failure halves it down to one and doubles the pause from 1 s to 60 s', () => {
    const rounds: [number, number][] = [];
    let nowMs = 0;
    for (let failed = 0; failed < 9; failed += 1) {
      const places = round(false, nowMs);
      const openMs = nextOpen(nowMs);
      rounds.push([places, (openMs - nowMs) / 1_000]);
      nowMs = openMs;
    }
    assert.deepEqual(rounds, [
      [32, 1],
      [16, 2],
      [8, 4],
      [4, 8],
      [2, 16],
      [1, 32],
      [1, 60],
      [1, 60],
      [1, 60],
    ]);
    assert.deepEqual(changes, [true]);
  });

  test('comes back step by step with each answer', () => {
    let nowMs = 0;
    for (let failed = 0; failed < 7; failed += 1) {
      round(false, nowMs);
      nowMs = nextOpen(nowMs);
    }
    const places: number[] = [];
    for (;;) {
      places.push(round(true, nowMs));
      nowMs = nextOpen(nowMs);
      if (places.at(-1) === CONCURRENCY_MAX) break;
    }
    assert.deepEqual(places, [1, 2, 4, 8, 16, 32]);
    assert.deepEqual(changes, [true, false]);
  });

  test('takes questions that were under way together for one failure', () => {
    const [one, other] = [pace.start, pace.start].map((begin) => {
      pace.acquire(1, 'reader', 0);
      return begin();
    });
    one?.(false, 0);
    other?.(false, 0);
    assert.equal(pace.acquire(1_000, 'reader', 1_000), CONCURRENCY_MAX / 2);
  });

  test('never lets more begin than there are places, and keeps a quarter of them for readers', () => {
    assert.equal(pace.acquire(20, 'schedule', 0), 20);
    assert.equal(pace.acquire(20, 'schedule', 0), 4);
    assert.equal(pace.acquire(1, 'schedule', 0), 0);
    assert.equal(pace.acquire(20, 'reader', 0), 8);
    assert.equal(pace.acquire(1, 'reader', 0), 0);
    pace.release(5);
    assert.equal(pace.acquire(20, 'schedule', 0), 0);
    assert.equal(pace.acquire(20, 'reader', 0), 5);
  });
});
