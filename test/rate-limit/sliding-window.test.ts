import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WINDOW_MS } from '../../apps/server/src/rate-limit/limiter.ts';
import { createSlidingWindow } from '../../apps/server/src/rate-limit/sliding-window.ts';
import { limiterConformance } from './limiter-conformance.ts';

limiterConformance('in this process', () => {
  // A monotonic clock does not start at 0.
  let nowMs = 4_711;
  return {
    limiter: createSlidingWindow(() => nowMs),
    advance: (ms) => {
      nowMs += ms;
    },
  };
});

describe('the in-process limiter', () => {
  it('never reports more than a whole window, on a clock with fractions of a millisecond', () => {
    let nowMs = 0.1;
    const window = createSlidingWindow(() => nowMs);
    for (let turn = 0; turn < 10_000; turn += 1) {
      nowMs += 1_237.3;
      assert.ok(window.take('key', 2).resetMs <= WINDOW_MS);
    }
  });

  it('deletes unused keys: memory is limited to the keys in use', () => {
    let nowMs = 0;
    const window = createSlidingWindow(() => nowMs);
    const before = usedBytes();
    const useKeys = (round: number): number => {
      for (let index = 0; index < 20_000; index += 1) window.take(`address ${round} ${index}`, 100);
      return usedBytes() - before;
    };
    const oneRound = useKeys(0);
    for (let round = 1; round < 8; round += 1) {
      nowMs += WINDOW_MS;
      assert.ok(useKeys(round) < 2 * oneRound, 'any number of rounds takes less memory than two rounds');
    }
    nowMs += WINDOW_MS;
    window.take('the only one left', 100);
    assert.ok(usedBytes() - before < oneRound / 2, 'unused keys free their memory');
    assert.equal(window.peek('the only one left', 100).remaining, 99);
  });

  it('takes little memory for a key that is used once: an attacker has many addresses', () => {
    const before = usedBytes();
    const window = createSlidingWindow(() => 0);
    for (let index = 0; index < 50_000; index += 1) window.take(`address ${index}`, 100);
    const bytesPerKey = (usedBytes() - before) / 50_000;
    assert.equal(window.peek('address 1', 100).remaining, 99);
    assert.ok(bytesPerKey < 600, `${Math.round(bytesPerKey)} bytes a key`);
  });
});

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
