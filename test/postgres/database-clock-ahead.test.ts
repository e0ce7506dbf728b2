import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pino from 'pino';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createLease } from '../../apps/server/src/postgres/leases.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { controlDatabaseClock, type DatabaseClock } from '../support/database-clock.ts';
import { heartbeatOf } from './heartbeat.ts';

/** PostgreSQL's clock was ahead for a while, as after a machine began with a wrong time, and was set right. */

const DAY_MS = 24 * 60 * 60 * 1_000;
const LEASE_MS = 30_000;

let testDatabase: TestDatabase;
let clock: DatabaseClock;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  clock = await controlDatabaseClock(testDatabase);
  const log = pino({ level: 'silent' });
  database = openDatabase({ connection: testDatabase.connection, connectionsMax: 1, log });
});
after(async () => {
  await database?.close();
  await clock?.close();
  await testDatabase?.drop();
});

async function whileAhead(work: () => Promise<unknown>): Promise<void> {
  await clock.advance(DAY_MS);
  await work();
  await clock.advance(-DAY_MS);
}

/** Regression: no other process deleted or archived until the wrong time had come. */
test('a lease of a process that died meanwhile is free', async () => {
  const [died, other, another] = [1, 2, 3].map(() => createLease(database, 'ahead', LEASE_MS)) as [Lease, Lease, Lease];
  await whileAhead(() => died.hold());
  assert.equal(await other.hold(), true);
  assert.equal(await another.hold(), false, 'a lease of now is held');
});

type Lease = ReturnType<typeof createLease>;

/** Regression: limits and quotas were divided among processes that were gone, until the wrong time had come. */
test('a process that died meanwhile is removed, and one that lives stays', async () => {
  const [died, lives] = [randomUUID(), randomUUID()];
  const beat = (processId: string) => heartbeatOf(database, processId);
  await whileAhead(async () => {
    // The first heartbeat of each stores the time of the machine.
    for (const processId of [died, died, lives, lives]) await beat(processId);
  });
  const own = randomUUID();
  assert.equal((await beat(own)).others.length, 2);
  await clock.advance(9_000);
  await beat(lives);
  assert.equal((await beat(own)).others.length, 1);
  await clock.advance(9_000);
  assert.equal((await beat(own)).others.length, 0);
});
