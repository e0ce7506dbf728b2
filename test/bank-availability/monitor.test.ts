import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAvailabilityMonitor } from '../../apps/server/src/bank-availability/monitor.ts';
import type { BankHealth } from '../../apps/server/src/rails/bank-status.ts';

/** What a process says of a bank, second by second. */

const BIC = 'CENAIDJA';
const START_MS = Date.parse('2026-11-21T00:00:00Z');
const at = (second: number): string => new Date(START_MS + second * 1_000).toISOString();

const unknown: BankHealth = { status: 'UP', since: null, lastVerdictAgoMs: null, inquiries: null };
const answered: BankHealth = { ...unknown, lastVerdictAgoMs: 100 };
const down = (since: string): BankHealth => ({ ...unknown, status: 'DOWN', since });
const tried: BankHealth = { ...unknown, status: 'DEGRADED', since: at(0) };

/** Of the healths of so many seconds: the status that is told in each, with its age; null where none is. */
function told(healths: readonly BankHealth[]): (readonly [string, number] | null)[] {
  const watch = createAvailabilityMonitor();
  return healths.map((health, second) => {
    const [state] = watch.evaluate(new Map([[BIC, health]]), START_MS + second * 1_000);
    return state === undefined ? null : ([state.status, state.ageMs] as const);
  });
}

test('of a bank that has answered nothing, nothing is said', () => {
  assert.deepEqual(told([unknown, unknown, unknown, unknown]), [null, null, null, null]);
});

test('a bank is DOWN once it has been so for two seconds, since its last rail went', () => {
  const healths = [answered, ...Array<BankHealth>(3).fill(down(at(0.5)))];
  assert.deepEqual(told(healths), [null, null, null, ['DOWN', 2_500]]);
});

test('a bank that is tried again in vain stays DOWN since the first time, and is not contradicted anew', () => {
  const healths = [down(at(0)), tried, down(at(2)), tried, down(at(4))];
  assert.deepEqual(told(healths).slice(2), [
    ['DOWN', 2_000],
    ['DOWN', 3_000],
    ['DOWN', 4_000],
  ]);
});

test('a short rest, and an answer or two between failures, are no news', () => {
  const resting = [answered, down(at(1)), answered, down(at(3)), answered, down(at(5))];
  assert.deepEqual(told(resting), [null, null, null, null, null, null]);
});

test('a bank that has answered for two seconds is UP, by the last of its verdicts', () => {
  const healths = [down(at(0)), answered, answered, { ...answered, lastVerdictAgoMs: 7 }];
  assert.deepEqual(told(healths), [null, null, null, ['UP', 7]]);
});
