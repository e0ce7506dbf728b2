import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type BreakerOutcome,
  type BreakerState,
  type CircuitBreaker,
  createCircuitBreaker,
} from '../../../apps/server/src/rails/resilience/circuit-breaker.ts';
import { PROTECTION } from '../../../apps/server/src/rails/resilience/settings.ts';
import { seededRandom } from './seed.ts';

const { breaker: SETTINGS } = PROTECTION;
const { consecutiveFailuresMax, openMinMs, openMaxMs, consecutiveThrottledMax, throttledOpenMs, windowMs } = SETTINGS;

/** A breaker with a clock that a test pushes. */
function testBreaker() {
  const changes: BreakerState[] = [];
  const breaker = createCircuitBreaker(SETTINGS, (state) => changes.push(state));
  let nowMs = 4_711.5;
  const record = (health: BreakerOutcome, times = 1): void => {
    for (let time = 0; time < times; time += 1) {
      assert.equal(breaker.waitMs(nowMs), 0, 'a question may go out');
      breaker.end(breaker.begin(), health, nowMs);
    }
  };
  return {
    breaker,
    changes,
    record,
    advance: (ms: number) => (nowMs += ms),
    waitMs: () => breaker.waitMs(nowMs),
    now: () => nowMs,
  };
}

describe('a breaker', () => {
  it('opens after failures in a row, and says how long the bank rests', () => {
    const { record, waitMs, advance, changes } = testBreaker();
    record('failure', consecutiveFailuresMax - 1);
    assert.equal(waitMs(), 0);
    record('failure');
    assert.equal(waitMs(), openMinMs);
    advance(1_500);
    assert.equal(waitMs(), openMinMs - 1_500);
    assert.deepEqual(changes, ['open']);
  });

  it('stays closed while an answer comes between failures, as long as most are answered', () => {
    const { record, changes } = testBreaker();
    for (let time = 0; time < 100; time += 1) {
      record('success', 5);
      record('failure', consecutiveFailuresMax - 1);
    }
    assert.deepEqual(changes, []);
  });

  it('opens when half of the answers in the window are failures, never so many in a row', () => {
    const { record, changes } = testBreaker();
    for (let time = 0; time < 9; time += 1) {
      record('success');
      record('failure');
    }
    assert.deepEqual(changes, [], 'of 18 answers nothing follows yet');
    record('success');
    record('failure');
    assert.deepEqual(changes, ['open']);
  });

  it('forgets what is older than its window', () => {
    const { record, advance, changes } = testBreaker();
    for (let time = 0; time < 9; time += 1) {
      record('success');
      record('failure');
    }
    advance(windowMs);
    record('success');
    record('failure');
    assert.deepEqual(changes, []);
  });

  it('lets one probe through after the rest; its answer closes it', () => {
    const { breaker, record, advance, waitMs, now, changes } = testBreaker();
    record('failure', consecutiveFailuresMax);
    advance(openMinMs);
    assert.equal(waitMs(), 0);
    assert.equal(breaker.begin(), true, 'it is the probe');
    assert.ok(waitMs() > 0, 'and the only one');
    breaker.end(true, 'success', now());
    assert.equal(waitMs(), 0);
    assert.equal(breaker.begin(), false);
    assert.deepEqual(changes, ['open', 'half_open', 'closed']);
  });

  it('rests twice as long after each probe that fails, a minute at most, and shortly again once it was closed', () => {
    const { record, advance, waitMs } = testBreaker();
    record('failure', consecutiveFailuresMax);
    const rests = Array.from({ length: 6 }, () => {
      const rest = waitMs();
      advance(rest);
      record('failure');
      return rest;
    });
    assert.deepEqual(rests, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    advance(openMaxMs);
    record('success');
    record('failure', consecutiveFailuresMax);
    assert.equal(waitMs(), openMinMs);
  });

  it('is not changed by answers to what went out before the rest', () => {
    const { breaker, record, advance, now, waitMs, changes } = testBreaker();
    const early = [breaker.begin(), breaker.begin()];
    record('failure', consecutiveFailuresMax);
    advance(1_000);
    for (const isProbe of early) breaker.end(isProbe, 'success', now());
    for (const isProbe of early) breaker.end(isProbe, 'failure', now());
    assert.equal(waitMs(), openMinMs - 1_000);
    assert.deepEqual(changes, ['open']);
  });

  it('waits for another probe when nobody waited for the first any more', () => {
    const { record, advance, waitMs, breaker, changes } = testBreaker();
    record('failure', consecutiveFailuresMax);
    advance(openMinMs);
    record('ignored');
    assert.equal(breaker.state(), 'half_open');
    assert.equal(waitMs(), 0);
    assert.deepEqual(changes, ['open', 'half_open']);
  });

  it('gives a bank that wants fewer questions a short rest, however often it says so', () => {
    const { record, breaker, advance, waitMs } = testBreaker();
    for (let time = 0; time < 5; time += 1) {
      record('throttled', time === 0 ? consecutiveThrottledMax : 1);
      assert.equal(waitMs(), throttledOpenMs);
      assert.ok(breaker.isThrottled());
      advance(throttledOpenMs);
    }
    record('success');
    record('throttled', consecutiveThrottledMax - 1);
    record('success');
    record('throttled', consecutiveThrottledMax - 1);
    assert.equal(waitMs(), 0, 'now and then is no reason');
  });

  it('never lets more than one probe through, whatever happens and whenever', (t) => {
    const random = seededRandom(t);
    const healths: readonly BreakerOutcome[] = ['success', 'failure', 'throttled', 'credentials_rejected', 'ignored'];
    for (let run = 0; run < 200; run += 1) {
      const { breaker, advance, now } = testBreaker();
      const failsOften = random();
      const underWay: boolean[] = [];
      for (let step = 0; step < 500; step += 1) {
        advance(random() * 800);
        if (breaker.waitMs(now()) === 0 && random() < 0.6) {
          const before: BreakerState = breaker.state();
          const isProbe = breaker.begin();
          assert.equal(isProbe, before !== 'closed', 'what goes out while it is not closed is a probe');
          underWay.push(isProbe);
        } else if (underWay.length > 0) {
          const [isProbe = false] = underWay.splice(Math.floor(random() * underWay.length), 1);
          const health = random() < failsOften ? 'failure' : healths[Math.floor(random() * healths.length)];
          breaker.end(isProbe, health ?? 'failure', now());
        }
        assert.ok(underWay.filter(Boolean).length <= 1, `two probes in run ${run}`);
        assertNeverStuck(breaker, now());
      }
    }
  });
});

/** It always says when to come again, and that is never longer than the longest rest. */
function assertNeverStuck(breaker: CircuitBreaker, nowMs: number): void {
  const waitMs = breaker.waitMs(nowMs);
  assert.ok(waitMs >= 0 && waitMs <= openMaxMs, `waits ${waitMs} ms`);
  if (breaker.state() === 'closed') assert.equal(waitMs, 0);
}
