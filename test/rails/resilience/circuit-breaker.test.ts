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

/** A breaker with a clock that the test advances. */
function testBreaker() {
  const changes: BreakerState[] = [];
  const breaker = createCircuitBreaker(SETTINGS, (state) => changes.push(state));
  let nowMs = 4_711.5;
  const record = (outcome: BreakerOutcome, times = 1): void => {
    for (let time = 0; time < times; time += 1) {
      assert.equal(breaker.waitMs(nowMs), 0, 'an inquiry may be sent');
      breaker.end(breaker.begin(), outcome, nowMs);
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

describe('a circuit breaker', () => {
  it('opens after consecutive failures, and says for how long', () => {
    const { record, waitMs, advance, changes } = testBreaker();
    record('failure', consecutiveFailuresMax - 1);
    assert.equal(waitMs(), 0);
    record('failure');
    assert.equal(waitMs(), openMinMs);
    advance(1_500);
    assert.equal(waitMs(), openMinMs - 1_500);
    assert.deepEqual(changes, ['open']);
  });

  it('stays closed while successes interrupt the failures and most inquiries succeed', () => {
    const { record, changes } = testBreaker();
    for (let time = 0; time < 100; time += 1) {
      record('success', 5);
      record('failure', consecutiveFailuresMax - 1);
    }
    assert.deepEqual(changes, []);
  });

  it('opens when half of the outcomes in the window are failures, with few of them consecutive', () => {
    const { record, changes } = testBreaker();
    for (let time = 0; time < 9; time += 1) {
      record('success');
      record('failure');
    }
    assert.deepEqual(changes, [], '18 outcomes are too few');
    record('success');
    record('failure');
    assert.deepEqual(changes, ['open']);
  });

  it('does not count outcomes that are older than its window', () => {
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

  it('sends one probe after the open time, and closes when the probe succeeds', () => {
    const { breaker, record, advance, waitMs, now, changes } = testBreaker();
    record('failure', consecutiveFailuresMax);
    advance(openMinMs);
    assert.equal(waitMs(), 0);
    assert.equal(breaker.begin(), true, 'it is the probe');
    assert.ok(waitMs() > 0, 'the only one');
    breaker.end(true, 'success', now());
    assert.equal(waitMs(), 0);
    assert.equal(breaker.begin(), false);
    assert.deepEqual(changes, ['open', 'half_open', 'closed']);
  });

  it('doubles the open time after each failed probe up to a minute, and starts anew once it was closed', () => {
    const { record, advance, waitMs } = testBreaker();
    record('failure', consecutiveFailuresMax);
    const openTimes = Array.from({ length: 6 }, () => {
      const openMs = waitMs();
      advance(openMs);
      record('failure');
      return openMs;
    });
    assert.deepEqual(openTimes, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    advance(openMaxMs);
    record('success');
    record('failure', consecutiveFailuresMax);
    assert.equal(waitMs(), openMinMs);
  });

  it('ignores the outcomes of inquiries that were sent before it opened', () => {
    const { breaker, record, advance, now, waitMs, changes } = testBreaker();
    const early = [breaker.begin(), breaker.begin()];
    record('failure', consecutiveFailuresMax);
    advance(1_000);
    for (const isProbe of early) breaker.end(isProbe, 'success', now());
    for (const isProbe of early) breaker.end(isProbe, 'failure', now());
    assert.equal(waitMs(), openMinMs - 1_000);
    assert.deepEqual(changes, ['open']);
  });

  it('waits for another probe when the first was cancelled', () => {
    const { record, advance, waitMs, breaker, changes } = testBreaker();
    record('failure', consecutiveFailuresMax);
    advance(openMinMs);
    record('ignored');
    assert.equal(breaker.state(), 'half_open');
    assert.equal(waitMs(), 0);
    assert.deepEqual(changes, ['open', 'half_open']);
  });

  it('opens for a short time when the bank throttles, however often', () => {
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
    assert.equal(waitMs(), 0, 'throttling that other outcomes interrupt does not open it');
  });

  it('never has more than one probe in flight, in any order of events', (t) => {
    const random = seededRandom(t);
    const outcomes: readonly BreakerOutcome[] = ['success', 'failure', 'throttled', 'credentials_rejected', 'ignored'];
    for (let run = 0; run < 200; run += 1) {
      const { breaker, advance, now } = testBreaker();
      const failureRate = random();
      const inFlight: boolean[] = [];
      for (let step = 0; step < 500; step += 1) {
        advance(random() * 800);
        if (breaker.waitMs(now()) === 0 && random() < 0.6) {
          const before: BreakerState = breaker.state();
          const isProbe = breaker.begin();
          assert.equal(isProbe, before !== 'closed', 'an inquiry sent while the breaker is not closed is a probe');
          inFlight.push(isProbe);
        } else if (inFlight.length > 0) {
          const [isProbe = false] = inFlight.splice(Math.floor(random() * inFlight.length), 1);
          const outcome = random() < failureRate ? 'failure' : outcomes[Math.floor(random() * outcomes.length)];
          breaker.end(isProbe, outcome ?? 'failure', now());
        }
        assert.ok(inFlight.filter(Boolean).length <= 1, `two probes in run ${run}`);
        assertNeverStuck(breaker, now());
      }
    }
  });
});

/** There is always a time until the next inquiry, and it is never longer than the longest open time. */
function assertNeverStuck(breaker: CircuitBreaker, nowMs: number): void {
  const waitMs = breaker.waitMs(nowMs);
  assert.ok(waitMs >= 0 && waitMs <= openMaxMs, `waits ${waitMs} ms`);
  if (breaker.state() === 'closed') assert.equal(waitMs, 0);
}
