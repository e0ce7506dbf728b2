import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BreakerOutcome } from '../../../apps/server/src/rails/resilience/breaker-outcomes.ts';
import {
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
  const suspended: [string, number][] = [];
  const breaker = createCircuitBreaker(SETTINGS, {
    onState: (state) => changes.push(state),
    onSuspended: (clientId, ms) => suspended.push([clientId, ms]),
  });
  let nowMs = 4_711.5;
  const recordOf = (clientId: string, outcome: BreakerOutcome, times = 1): void => {
    for (let time = 0; time < times; time += 1) {
      assert.equal(breaker.waitMs(clientId, nowMs), 0, 'an inquiry may be sent');
      breaker.end(breaker.begin(), outcome, clientId, nowMs);
    }
  };
  return {
    breaker,
    changes,
    suspended,
    record: (outcome: BreakerOutcome, times?: number) => recordOf('alpha', outcome, times),
    recordOf,
    advance: (ms: number) => (nowMs += ms),
    waitMs: (clientId: string | null = 'alpha') => breaker.waitMs(clientId, nowMs),
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
    breaker.end(true, 'success', 'alpha', now());
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
    for (const isProbe of early) breaker.end(isProbe, 'success', 'alpha', now());
    for (const isProbe of early) breaker.end(isProbe, 'failure', 'alpha', now());
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
      // A third of the runs has one client, and a null is an outcome that no client caused.
      const clients = [['alpha'], ['alpha', 'beta'], ['alpha', 'beta', 'gamma', null]][run % 3] ?? [];
      const inFlight: { isProbe: boolean; clientId: string | null }[] = [];
      for (let step = 0; step < 500; step += 1) {
        advance(random() * 800);
        const clientId = clients[Math.floor(random() * clients.length)] ?? null;
        if (breaker.waitMs(clientId, now()) === 0 && random() < 0.6) {
          const before: BreakerState = breaker.state();
          const isProbe = breaker.begin();
          assert.equal(isProbe, before !== 'closed', 'an inquiry sent while the breaker is not closed is a probe');
          inFlight.push({ isProbe, clientId });
        } else if (inFlight.length > 0) {
          const [{ isProbe, clientId: ended } = assert.fail()] = inFlight.splice(
            Math.floor(random() * inFlight.length),
            1,
          );
          const outcome = random() < failureRate ? 'failure' : outcomes[Math.floor(random() * outcomes.length)];
          breaker.end(isProbe, outcome ?? 'failure', ended, now());
        }
        assert.ok(inFlight.filter(({ isProbe }) => isProbe).length <= 1, `two probes in run ${run}`);
        for (const each of clients) assertNeverStuck(breaker, each, now());
      }
    }
  });
});

describe('failures of one client', () => {
  it('suspend only that client while another one is answered, twice as long each time', () => {
    const { breaker, record, recordOf, waitMs, advance, changes, suspended } = testBreaker();
    for (const expectedMs of [5_000, 10_000, 20_000]) {
      recordOf('beta', 'success');
      record('failure', consecutiveFailuresMax);
      assert.deepEqual([waitMs('alpha'), waitMs('beta'), waitMs(null)], [expectedMs, 0, 0]);
      assert.equal(breaker.state(), 'closed');
      advance(expectedMs);
    }
    record('success');
    recordOf('beta', 'success');
    record('failure', consecutiveFailuresMax);
    assert.deepEqual(
      suspended,
      [5_000, 10_000, 20_000, 5_000].map((ms) => ['alpha', ms]),
    );
    assert.deepEqual(changes, []);
  });

  it('suspend only that client when they make up half of all outcomes', () => {
    const { recordOf, waitMs, changes, suspended } = testBreaker();
    while (waitMs('alpha') === 0) {
      recordOf('beta', 'success');
      recordOf('alpha', 'failure');
    }
    // One failure of another client changes nothing.
    recordOf('beta', 'failure');
    assert.deepEqual(suspended, [['alpha', openMinMs]]);
    assert.deepEqual([waitMs('beta'), changes], [0, []]);
  });

  it('open the breaker when no other client is answered, and another client is the probe at once', () => {
    const { recordOf, record, waitMs, changes, suspended } = testBreaker();
    record('failure', consecutiveFailuresMax);
    assert.deepEqual([waitMs('alpha'), waitMs(null), waitMs('beta')], [openMinMs, openMinMs, 0]);
    recordOf('beta', 'success');
    assert.deepEqual([waitMs('alpha'), waitMs('beta')], [openMinMs, 0]);
    assert.deepEqual(suspended, [['alpha', openMinMs]]);
    assert.deepEqual(changes, ['open', 'half_open', 'closed']);
  });

  it('and one of another client, as the probe, keep the breaker open for all', () => {
    const { recordOf, record, waitMs, suspended } = testBreaker();
    record('failure', consecutiveFailuresMax);
    recordOf('beta', 'failure');
    assert.deepEqual([waitMs('alpha'), waitMs('beta'), waitMs('gamma')], [10_000, 10_000, 10_000]);
    assert.deepEqual(suspended, []);
  });

  it('are no reason to suspend clients one after the other: the second one opens the breaker', () => {
    const { recordOf, waitMs, changes } = testBreaker();
    recordOf('beta', 'success');
    recordOf('alpha', 'success');
    recordOf('alpha', 'failure', consecutiveFailuresMax);
    recordOf('beta', 'failure', consecutiveFailuresMax);
    assert.deepEqual([waitMs(null), changes], [openMinMs, ['open']]);
  });

  it('do not make a suspended client the probe of a breaker that another client opened', () => {
    const { recordOf, waitMs, changes } = testBreaker();
    recordOf('beta', 'success');
    recordOf('alpha', 'failure', consecutiveFailuresMax);
    recordOf('beta', 'failure', consecutiveFailuresMax);
    assert.deepEqual([waitMs('alpha'), waitMs('beta'), waitMs('gamma')], [openMinMs, openMinMs, 0]);
    assert.deepEqual(changes, ['open']);
  });

  it('keep the breaker open for that client when the probe of another one is cancelled', () => {
    const { recordOf, record, waitMs, advance } = testBreaker();
    record('failure', consecutiveFailuresMax);
    advance(1_000);
    recordOf('beta', 'ignored');
    assert.deepEqual([waitMs('alpha'), waitMs('beta')], [openMinMs - 1_000, 0]);
  });

  it('are forgotten after the longest open time: the next suspension is as short as the first', () => {
    const { record, recordOf, advance, suspended } = testBreaker();
    for (const pauseMs of [openMinMs, openMinMs + openMaxMs * 3, 0]) {
      recordOf('beta', 'success');
      record('failure', consecutiveFailuresMax);
      advance(pauseMs);
    }
    assert.deepEqual(
      suspended.map(([, ms]) => ms),
      [openMinMs, openMinMs * 2, openMinMs],
    );
  });

  it('do not delay the breaker when several clients fail', () => {
    const { recordOf, waitMs, changes } = testBreaker();
    for (const clientId of ['alpha', 'beta', 'gamma']) recordOf(clientId, 'success');
    for (const clientId of ['alpha', 'beta', 'gamma', 'alpha', 'beta']) recordOf(clientId, 'failure');
    assert.deepEqual([waitMs('gamma'), changes], [openMinMs, ['open']]);
  });

  it('do not suspend it when the connection fails, whatever accounts it checks', () => {
    const { breaker, recordOf, now, changes, suspended } = testBreaker();
    recordOf('beta', 'success');
    for (let time = 0; time < consecutiveFailuresMax; time += 1) breaker.end(breaker.begin(), 'failure', null, now());
    assert.deepEqual([changes, suspended], [['open'], []]);
  });
});

/** There is always a time until the next inquiry, and it is never longer than the longest open time. */
function assertNeverStuck(breaker: CircuitBreaker, clientId: string | null, nowMs: number): void {
  const waitMs = breaker.waitMs(clientId, nowMs);
  assert.ok(waitMs >= 0 && waitMs <= openMaxMs, `waits ${waitMs} ms`);
  if (breaker.state() === 'closed' && clientId === null) assert.equal(waitMs, 0);
}
