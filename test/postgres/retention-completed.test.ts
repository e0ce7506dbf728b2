import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import pino from 'pino';
import { createInTurn } from '../../apps/server/src/lib/in-turn.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { startRetention } from '../../apps/server/src/postgres/retention/retention.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService } from '../support/service.ts';

/** Regression: nothing told an operator that old records were no longer deleted, and the database grew. */
test('a retention says when all that is old is deleted: not while some is left, nor when a batch has failed', async (t) => {
  const log = pino({ level: 'silent' });
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ connection: testDatabase.connection, connectionsMax: 1, log });
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  const retain = async (records: string, deleteBatch: () => Promise<number>) => {
    let [batches, completed] = [0, 0];
    mock.timers.enable({ apis: ['setTimeout'] });
    const retention = startRetention({
      database,
      records,
      days: 1,
      deleteBatch: () => {
        batches += 1;
        return deleteBatch();
      },
      onCompleted: () => (completed += 1),
      inTurn: createInTurn(),
      log,
    });
    mock.timers.tick(60_000);
    mock.timers.reset();
    await eventually('a batch has begun', () => batches > 0);
    return { completed: () => completed, stop: retention.stop };
  };
  const left = [250, 250, 0];
  const whole = await retain('what goes', () => Promise.resolve(left.shift() ?? assert.fail()));
  await eventually('it says so', () => whole.completed() === 1);
  assert.deepEqual(left, []);
  await whole.stop();
  const failed = await retain('what stays', () => Promise.reject(new Error('a batch failed')));
  await failed.stop();
  assert.equal(failed.completed(), 0);
});

test('each kind of records has a time from the start of the process on, so that a retention that never ends is noticed', async (t) => {
  const service = await startTestService({ rails: [], settings: { messageDays: 0 } });
  t.after(() => service.close());
  const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  const kinds = [...metrics.matchAll(/^tiba_retention_completed_timestamp_seconds\{records="(\w+)"\} \d/gm)];
  const names = new Set(kinds.map(([, name]) => name));
  assert.ok(
    ['callbacks', 'events', 'transactions', 'account_checks'].every((name) => names.has(name)),
    metrics,
  );
  assert.ok(!names.has('status_messages'), 'what has no limit is not deleted');
});
