import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createInTurn } from '../../apps/server/src/lib/in-turn.ts';

suite('tasks in turn', () => {
  test('one begins when the one before has ended, also when that failed', async () => {
    const inTurn = createInTurn();
    const steps: string[] = [];
    const failing = Promise.withResolvers<void>();
    const first = inTurn(async () => {
      steps.push('first begins');
      await failing.promise;
    });
    const second = inTurn(async () => {
      steps.push('second begins');
      return 2;
    });
    await setImmediate();
    assert.deepEqual(steps, ['first begins']);
    failing.reject(new Error('the first fails'));
    await assert.rejects(first, /the first fails/);
    assert.equal(await second, 2);
    assert.deepEqual(steps, ['first begins', 'second begins']);
  });
});
