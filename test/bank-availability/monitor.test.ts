import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAvailabilityMonitor } from '../../apps/server/src/bank-availability/monitor.ts';
import { type BankHealth, HEALTHY } from '../../apps/server/src/rails/bank-status.ts';

/** The availability that one process derives for a bank, second by second. */

const BIC = 'CENAIDJA';
const START_MS = Date.parse('2026-11-21T00:00:00Z');
const at = (second: number): string => new Date(START_MS + second * 1_000).toISOString();

const unknown: BankHealth = HEALTHY;
const answered: BankHealth = { ...unknown, lastVerdictAgoMs: 100 };
const down = (since: string): BankHealth => ({ ...unknown, status: 'DOWN', since });
const onTrial: BankHealth = { ...unknown, status: 'DEGRADED', since: at(0) };

/** For one health per second: the status that is reported in that second, with its age; null if none is. */
function reported(healths: readonly BankHealth[]): (readonly [string, number] | null)[] {
  const monitor = createAvailabilityMonitor();
  return healths.map((health, second) => {
    const [state] = monitor.evaluate(new Map([[BIC, health]]), START_MS + second * 1_000);
    return state === undefined ? null : ([state.status, state.ageMs] as const);
  });
}

test('a bank without any answer has no status', () => {
  assert.deepEqual(reported([unknown, unknown, unknown, unknown]), [null, null, null, null]);
});

test('a bank is reported DOWN two seconds after its last rail failed, with the age of that failure', () => {
  const healths = [answered, ...Array<BankHealth>(3).fill(down(at(0.5)))];
  assert.deepEqual(reported(healths), [null, null, null, ['DOWN', 2_500]]);
});

test('a bank that fails its trials stays DOWN since the first failure', () => {
  const healths = [down(at(0)), onTrial, down(at(2)), onTrial, down(at(4))];
  assert.deepEqual(reported(healths).slice(2), [
    ['DOWN', 2_000],
    ['DOWN', 3_000],
    ['DOWN', 4_000],
  ]);
});

test('a short pause, and an answer or two between failures, are not reported', () => {
  const flapping = [answered, down(at(1)), answered, down(at(3)), answered, down(at(5))];
  assert.deepEqual(reported(flapping), [null, null, null, null, null, null]);
});

test('a bank that has answered for two seconds is reported UP, with the age of its last verdict', () => {
  const healths = [down(at(0)), answered, answered, { ...answered, lastVerdictAgoMs: 7 }];
  assert.deepEqual(reported(healths), [null, null, null, ['UP', 7]]);
});

test('a bank that has failed here for long, and answers no other process any more, is DOWN since then', () => {
  const answersOthers: BankHealth = { ...down(at(0)), status: 'DEGRADED', answersOthers: true };
  const healths = [answersOthers, answersOthers, ...Array<BankHealth>(4).fill(down(at(0)))];
  assert.deepEqual(reported(healths), [null, null, null, null, ['DOWN', 2_000], ['DOWN', 3_000]]);
});

test('a bank that answers another process is not reported DOWN, also when it was DOWN a moment ago', () => {
  const answersOthers: BankHealth = { ...down(at(0)), status: 'DEGRADED', answersOthers: true };
  const healths = [answered, down(at(0.5)), answersOthers, answersOthers, answersOthers, answersOthers];
  assert.deepEqual(reported(healths), [null, null, null, null, null, null]);
});
