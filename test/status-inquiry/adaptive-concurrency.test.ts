import assert from 'node:assert/strict';
import { beforeEach, suite, test } from 'node:test';
import {
  type AdaptiveConcurrency,
  type BankEvidence,
  CONCURRENCY_MAX,
  createAdaptiveConcurrency,
} from '../../apps/server/src/status-inquiry/adaptive-concurrency.ts';

suite('the concurrency limit of one bank', () => {
  let concurrency: AdaptiveConcurrency;
  let changes: boolean[];
  beforeEach(() => {
    changes = [];
    concurrency = createAdaptiveConcurrency((isFailing) => changes.push(isFailing));
  });

  /** Starts as many inquiries as possible and ends them. Returns how many there were. */
  function round(evidence: BankEvidence, nowMs: number): number {
    const slots = concurrency.acquire(1_000, 'reader', nowMs);
    const ends = Array.from({ length: slots }, () => concurrency.start());
    assert.equal(concurrency.acquire(1, 'reader', nowMs), 0);
    for (const end of ends) end(evidence, nowMs);
    return slots;
  }

  /** The next moment at which an inquiry may start, in steps of a tenth of a second. */
  function nextStartMs(fromMs: number): number {
    for (let nowMs = fromMs; nowMs <= fromMs + 61_000; nowMs += 100) {
      if (concurrency.acquire(1, 'reader', nowMs) === 0) continue;
      concurrency.release(1);
      return nowMs;
    }
    return assert.fail('no inquiry may start within a minute');
  }

  test('is 32; each failure halves it, down to one, and doubles the pause, from 1 s to 60 s', () => {
    const rounds: [number, number][] = [];
    let nowMs = 0;
    for (let failed = 0; failed < 9; failed += 1) {
      const slots = round('failed', nowMs);
      const startMs = nextStartMs(nowMs);
      rounds.push([slots, (startMs - nowMs) / 1_000]);
      nowMs = startMs;
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

  test('rises by one with each answer', () => {
    let nowMs = 0;
    for (let failed = 0; failed < 7; failed += 1) {
      round('failed', nowMs);
      nowMs = nextStartMs(nowMs);
    }
    const slots: number[] = [];
    for (;;) {
      slots.push(round('answered', nowMs));
      nowMs = nextStartMs(nowMs);
      if (slots.at(-1) === CONCURRENCY_MAX) break;
    }
    assert.deepEqual(slots, [1, 2, 4, 8, 16, 32]);
    assert.deepEqual(changes, [true, false]);
  });

  /** Regression: the recovery was reported when the limit was back, minutes after the bank was. */
  test('reports the first answer as the recovery, and not each turn of a bank that answers every other time', () => {
    let nowMs = 0;
    const next = (evidence: BankEvidence): void => {
      nowMs = nextStartMs(nowMs);
      assert.equal(concurrency.acquire(1, 'reader', nowMs), 1);
      concurrency.start()(evidence, nowMs);
    };
    for (let failed = 0; failed < 7; failed += 1) next('failed');
    assert.deepEqual(changes, [true]);
    next('answered');
    assert.deepEqual(changes, [true, false]);
    for (let answered = 0; answered < 6; answered += 1) next('answered');
    for (let turn = 0; turn < 10; turn += 1) {
      next('answered');
      next('failed');
    }
    assert.deepEqual(changes, [true, false]);
    for (let failed = 0; failed < 5; failed += 1) next('failed');
    assert.deepEqual(changes, [true, false, true]);
  });

  test('counts inquiries that were in flight together as one failure', () => {
    const [one, other] = [concurrency.start, concurrency.start].map((start) => {
      concurrency.acquire(1, 'reader', 0);
      return start();
    });
    one?.('failed', 0);
    other?.('failed', 0);
    assert.equal(concurrency.acquire(1_000, 'reader', 1_000), CONCURRENCY_MAX / 2);
  });

  test('neither falls nor rises with an inquiry that says nothing about the bank', () => {
    assert.equal(round('none', 0), CONCURRENCY_MAX);
    assert.equal(round('failed', 0), CONCURRENCY_MAX);
    assert.equal(round('none', 1_000), CONCURRENCY_MAX / 2);
    assert.equal(round('none', 1_000), CONCURRENCY_MAX / 2);
    assert.deepEqual(changes, [true]);
  });

  test('never grants more than its slots, and leaves a quarter of them to readers', () => {
    assert.equal(concurrency.acquire(20, 'schedule', 0), 20);
    assert.equal(concurrency.acquire(20, 'schedule', 0), 4);
    assert.equal(concurrency.acquire(1, 'schedule', 0), 0);
    assert.equal(concurrency.acquire(20, 'reader', 0), 8);
    assert.equal(concurrency.acquire(1, 'reader', 0), 0);
    concurrency.release(5);
    assert.equal(concurrency.acquire(20, 'schedule', 0), 0);
    assert.equal(concurrency.acquire(20, 'reader', 0), 5);
  });
});
