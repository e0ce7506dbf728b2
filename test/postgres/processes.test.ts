import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import pino from 'pino';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { startProcessRegistry } from '../../apps/server/src/postgres/process-registry.ts';
import { createTestDatabase, querySql } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startServe } from '../support/serve.ts';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { heartbeatOf } from './heartbeat.ts';

interface ListedProcess {
  readonly process_id: string;
  readonly is_this_one: boolean;
  readonly version: string;
  readonly pid: number;
  readonly resident_bytes: number;
  readonly clock_skew_ms: number | null;
}

test('processes on one database know of each other, and say what is not exact without Valkey', async (t) => {
  const database = await createTestDatabase();
  const first = await startTestService({ database });
  const second = await startTestService({ database });
  t.after(async () => {
    await first.close();
    await second.close();
    await database.drop();
  });
  assert.ok(says(second, NOT_EXACT), 'the second process says at start that limits are not exact');
  await eventually('the first process knows of the second', async () =>
    (await readiness(first)).text.includes('several'),
  );
  assert.ok(says(first, NOT_EXACT), 'the first process says so when the second one has started');
  const { status, text } = await readiness(first);
  assert.equal(status, 200);
  assert.match(text, /"shared_limits":"several processes without TIBA_VALKEY_URL/);

  const { token } = await first.addClient('operator', ['operator:read']);
  const list = async (): Promise<ListedProcess[]> => {
    const headers = { authorization: `Bearer ${token}` };
    const { json } = await send(`${first.operatorUrl}/operator/v1/processes`, { headers });
    return json.data?.['processes'] as ListedProcess[];
  };
  const processes = await list();
  assert.deepEqual(
    processes.map((each) => [each.is_this_one, each.pid, each.version]),
    [
      [true, process.pid, '0.1.0'],
      [false, process.pid, '0.1.0'],
    ],
  );
  assert.ok(processes.every((each) => each.resident_bytes > 1_000_000));

  await second.close();
  assert.equal((await list()).length, 1, 'a process that was stopped is gone at once');
  await eventually('the first process is alone', async () =>
    (await readiness(first)).text.includes('"shared_limits":"ok"'),
  );
  assert.ok(says(first, EXACT_AGAIN));

  await first.app.database.query(
    `insert into tiba.processes (process_id, host_name, pid, version, heartbeat_at, event_loop_utilization, resident_bytes)
     values (gen_random_uuid(), 'killed', 1, '0.1.0', now() - interval '20 seconds', 0, 0)`,
  );
  assert.equal((await list()).length, 1, 'a process without heartbeats is not listed');
  await eventually('the row of the dead process is removed', async () => {
    const rows = await first.app.database.query("select pid from tiba.processes where host_name = 'killed'");
    return rows.length === 0;
  });
});

test("a process whose clock differs from PostgreSQL's says so, and is not ready beyond 10 s", async (t) => {
  let aheadMs = 5_000;
  const service = await startTestService({ rails: [], wallClock: () => Date.now() + aheadMs });
  t.after(() => service.close());
  const { status, text } = await readiness(service);
  assert.equal(status, 200);
  assert.match(text, /"clock_skew":"the clock is [45]\.\d s ahead of PostgreSQL's: synchronize it \(NTP\)"/);
  const { text: metrics } = await send(`${service.operatorUrl}/metrics`, {});
  assert.match(metrics, /tiba_clock_skew_seconds [45]/);
  const warned = (): number => service.logged.filter(({ msg }) => String(msg).startsWith('clock differs')).length;
  assert.equal(warned(), 1);

  aheadMs = -12_000;
  await eventually('the process is not ready', async () => (await readiness(service)).status === 503);
  assert.match((await readiness(service)).text, /"clock":"the clock is 1[12]\.\d s behind/);
  assert.equal(warned(), 1, 'the warning is not repeated');

  aheadMs = 0;
  await eventually('the process is ready', async () => (await readiness(service)).status === 200);
  assert.match((await readiness(service)).text, /"clock_skew":"ok"/);
});

/** Regression: nothing took the warning back. */
test('a process that was killed on another machine counts for a while; then limits are exact again', async (t) => {
  const database = await createTestDatabase();
  await querySql(database, KILLED, ['another-machine', 1]);
  const service = await startTestService({ database, rails: [] });
  t.after(async () => {
    await service.close();
    await database.drop();
  });
  assert.ok(says(service, NOT_EXACT));
  await querySql(database, "update tiba.processes set heartbeat_at = now() - interval '8 seconds' where pid = 1");
  await eventually('the warning is taken back', () => says(service, EXACT_AGAIN));
  assert.match((await readiness(service)).text, /"shared_limits":"ok"/);
});

/** Regression: the first process to report after an outage found no other one, as if limits were exact again. */
test('after an outage of PostgreSQL, the others count until they had the time to report again', async (t) => {
  const testDatabase = await createTestDatabase();
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  const database = openDatabase({ connection: testDatabase.connection, connectionsMax: 1, log });
  let isAway = false;
  await querySql(testDatabase, KILLED, ['another-machine', 1]);
  const registry = await startProcessRegistry({
    database: {
      ...database,
      query: (...query) => (isAway ? Promise.reject(new Error('an outage')) : database.query(...query)),
    },
    version: '0.1.0',
    secretKeyId: 'a key',
    log,
    metrics: createMetrics(() => 0),
  });
  t.after(async () => {
    await registry.close();
    await database.close();
    await testDatabase.drop();
  });
  assert.equal(registry.liveProcesses(), 2);
  isAway = true;
  await eventually('a heartbeat fails', () => lines.some((line) => line.includes('an outage')));
  await querySql(testDatabase, "update tiba.processes set heartbeat_at = now() - interval '8 seconds' where pid = 1");
  isAway = false;
  await eventually('a heartbeat succeeds', () => lines.some((line) => line.includes('works again')));
  assert.deepEqual([registry.liveProcesses(), registry.runningProcesses()], [2, 2]);
  await eventually('the other one has not come back', () => registry.runningProcesses() === 1);
  assert.equal(registry.liveProcesses(), 1);
});

/**
 * Regression: after an outage of more than 8 s each process took the others for dead, and waited for the row that the
 * other one was renewing: a deadlock, which PostgreSQL ended after a second by failing one of the heartbeats.
 */
test('a heartbeat does not wait for a process that seems dead and renews its registration', async (t) => {
  const testDatabase = await createTestDatabase();
  const log = pino({ level: 'silent' });
  const database = openDatabase({ connection: testDatabase.connection, connectionsMax: 2, log });
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  const processIds = [randomUUID(), randomUUID()] as const;
  const beat = (processId: string) => heartbeatOf(database, processId);
  for (const processId of processIds) await beat(processId);
  await database.query("update tiba.processes set heartbeat_at = now() - interval '9 seconds'");
  await database.transaction(async (query) => {
    await query('update tiba.processes set heartbeat_at = now() where process_id = $1', [processIds[0]]);
    const startedMs = performance.now();
    await beat(processIds[1]);
    assert.ok(performance.now() - startedMs < timeLimitMs(900));
  });
  const { others } = await beat(processIds[1]);
  assert.equal(others.length, 1, 'what was renewed is not removed');
});

/** Regression: the process that was killed counted as a second one, so the warning came without a reason. */
test('after kill -9 and a new start, limits are exact at once', async (t) => {
  const database = await createTestDatabase();
  const killed = await startServe({ database, stdout: 'pipe' });
  killed.child.stdout?.resume();
  await killed.release();
  // As if the new start came at once, also on a slow machine.
  const left = await querySql(database, 'update tiba.processes set heartbeat_at = now() returning pid');
  assert.deepEqual(left, [{ pid: killed.child.pid }], 'it has left its registration');
  const next = await startServe({ database, stdout: 'pipe' });
  t.after(async () => {
    await next.release();
    await database.drop();
  });
  let log = '';
  next.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (log += chunk));
  assert.match((await send(`${next.operatorUrl}/readyz`, {})).text, /"shared_limits":"ok"/);
  await eventually('the log is read', () => log.includes('"ready"'));
  assert.ok(!log.includes(NOT_EXACT), log);
});

const NOT_EXACT = 'limits are not exact: set TIBA_VALKEY_URL';
const EXACT_AGAIN = 'limits are exact again: this is the only process';
const says = ({ logged }: TestService, message: string): boolean => logged.some(({ msg }) => msg === message);

const KILLED = `insert into tiba.processes (process_id, host_name, pid, version, event_loop_utilization, resident_bytes)
 values (gen_random_uuid(), $1, $2, '0.1.0', 0, 0)`;

const readiness = ({ operatorUrl }: TestService): Promise<Answer> => send(`${operatorUrl}/readyz`, {});
