import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createDatabaseClock } from '../../apps/server/src/postgres/database-clock.ts';

suite("PostgreSQL's time as a process knows it", () => {
  test('goes on by the monotonic clock between two heartbeats', () => {
    let monotonicMs = 5_000;
    const clock = createDatabaseClock(1_000_000, () => monotonicMs);
    assert.equal(clock.now(), 1_000_000);
    monotonicMs += 1_500.4;
    assert.equal(clock.now(), 1_001_500);
  });

  test('is corrected by a heartbeat, and only as far as the heartbeat proves it wrong', () => {
    let monotonicMs = 5_000;
    const clock = createDatabaseClock(1_000_000, () => monotonicMs);
    clock.learn(2_000_000, 4_900, 4_950);
    assert.equal(clock.now(), 2_000_050, 'it was behind');
    clock.learn(2_000_000, 4_000, 5_000);
    assert.equal(clock.now(), 2_000_050, 'a heartbeat that took a second may explain it');
    clock.learn(1_000_000, 4_900, 4_950);
    assert.equal(clock.now(), 1_000_100, 'it was ahead');
    monotonicMs = 5_100;
    clock.learn(4_600_000, 5_080, 5_100);
    assert.equal(clock.now(), 4_600_000, 'the machine was suspended for an hour');
  });
});
