import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pino from 'pino';
import { type AuditLog, createAuditLog } from '../../apps/server/src/account-checks/audit-log.ts';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import {
  deleteAccountChecks,
  insertAccountChecks,
  type NewAccountCheck,
} from '../../apps/server/src/postgres/account-checks.ts';
import { type Database, DatabaseUnavailable, openDatabase } from '../../apps/server/src/postgres/database.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { type PostgresServer, startPostgresServer } from '../fault-injection/postgres-server.ts';
import { assertRecovers, probeStatus, requestContinuously } from '../fault-injection/request-monitor.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { storedChecks } from './stored-checks.ts';

/** While PostgreSQL fails and recovers, each inquiry that was sent leaves exactly one audit record. */

let server: PostgresServer;
let service: TestService;
let database: Database;
const log = pino({ level: 'silent' });
const metrics = createMetrics();

/** A rail that records the account numbers of its inquiries. While it is blocked it answers none of them. */
const inquired: string[] = [];
let blocked: PromiseWithResolvers<void> | undefined;
const rail: Rail = {
  name: 'recording',
  reaches: () => true,
  async inquireAccount({ accountNumber }) {
    inquired.push(accountNumber.reveal());
    await blocked?.promise;
    return { kind: 'verdict', verdict: { status: 'INACTIVE' }, railCode: '0' };
  },
  close: async () => {},
};

let accounts = 0;
const check = (): Promise<Answer> =>
  service.checkAccount({ bank_code: 'BRI', account_number: String(10_000_000_000 + (accounts += 1) * 7_919) });

const record = (checkedAt = '2026-11-21T04:32:26.123Z'): NewAccountCheck => ({
  client_id: 'alpha',
  checked_at: checkedAt,
  bic: 'BRINIDJA',
  account_hash: '00ff',
  outcome: 'ACTIVE',
  rail: null,
  age_seconds: null,
  request_id: null,
});

before(async () => {
  server = await startPostgresServer();
  service = await startTestService({ rails: [rail], database: server.database });
  database = openDatabase({ connection: server.database.connection, connectionsMax: 1, log });
});
after(async () => {
  server?.resume();
  await server?.start();
  await database?.close();
  await service?.close();
  await server?.remove();
});

const storedCount = async (): Promise<number> => (await storedChecks(server.database.connection)).length;

const CONCURRENCY = 8;

/** Resolves when all inquiries in progress have reached the bank, which answers none of them before `unblock`. */
async function blockInquiries(): Promise<void> {
  blocked = Promise.withResolvers();
  const before = inquired.length;
  await eventually('all inquiries have reached the bank', () => inquired.length >= before + CONCURRENCY);
}

function unblock(): void {
  blocked?.resolve();
  blocked = undefined;
}

const isReady = async (ready: boolean): Promise<boolean> => ((await probeStatus(service, '/readyz')) === 200) === ready;

test('checks during an outage and a freeze of PostgreSQL leave one audit record each', async (t) => {
  t.after(unblock);
  const requests = requestContinuously(t, check, CONCURRENCY);
  await eventually('some records are stored', async () => (await storedCount()) > 50);
  await blockInquiries();
  await server.stop();
  unblock();
  await eventually('the service is not ready', () => isReady(false));
  await server.start();
  await assertRecovers(check);
  await blockInquiries();
  await server.freeze();
  unblock();
  await eventually('the service is not ready', () => isReady(false));
  server.resume();
  await assertRecovers(check);
  const answers = await requests.stop();
  const ids = answers
    .filter(({ answer }) => answer.status === 200)
    .map(({ answer }) => answer.headers.get('x-request-id'));
  await eventually('all records are stored', async () => (await storedCount()) >= inquired.length);
  const records = await storedChecks(server.database.connection);
  assert.equal(records.length, inquired.length);
  const recorded = new Set(records.map(({ request_id: id }) => id));
  assert.equal(recorded.size, records.length);
  assert.ok(ids.length > 50 && ids.every((id) => recorded.has(id)));
});

function hasCapacity(auditLog: AuditLog, clientId: string): boolean {
  try {
    auditLog.requireCapacity(clientId);
    return true;
  } catch {
    return false;
  }
}

test('when too many audit records are pending, checks are rejected until PostgreSQL recovers', async () => {
  const auditLog = createAuditLog({ database, log, metrics, pendingMax: 2 });
  const before = await storedCount();
  await server.stop();
  auditLog.add(record());
  auditLog.requireCapacity('alpha');
  auditLog.add(record());
  assert.throws(() => auditLog.requireCapacity('alpha'), DatabaseUnavailable);
  await server.start();
  await eventually('there is capacity again', () => hasCapacity(auditLog, 'alpha'));
  await auditLog.close();
  assert.equal(await storedCount(), before + 2);
});

test('on a distributed database, a node that is away stops the records of its own clients only', async () => {
  const before = await storedCount();
  let isAway = true;
  const halfAway: Database = {
    ...database,
    distributed: true,
    query: (sql, values, name) =>
      isAway && values?.includes('beta') === true
        ? Promise.reject(new DatabaseUnavailable('the node is away', false))
        : database.query(sql, values, name),
  };
  const auditLog = createAuditLog({ database: halfAway, log, metrics, pendingMax: 2 });
  const beta = { ...record(), client_id: 'beta' };
  auditLog.add(beta);
  auditLog.add(beta);
  for (let count = 1; count <= 3; count += 1) {
    await eventually('the records of alpha have capacity', () => hasCapacity(auditLog, 'alpha'));
    auditLog.add(record());
    await eventually('they are stored', async () => (await storedCount()) === before + count);
  }
  assert.throws(() => auditLog.requireCapacity('beta'), DatabaseUnavailable);
  isAway = false;
  await auditLog.close();
  assert.equal(await storedCount(), before + 5);
});

test('closing gives up while PostgreSQL is down, and no write follows that keeps the process from ending', async (t) => {
  await server.stop();
  t.after(() => server.start());
  let attempts = 0;
  const counted: Database = {
    ...database,
    query: (...query) => {
      attempts += 1;
      return database.query(...query);
    },
  };
  const auditLog = createAuditLog({ database: counted, log, metrics, giveUpAfterMs: 100 });
  // More than a batch: the next batch waits for no timer.
  for (let count = 0; count < 600; count += 1) auditLog.add(record());
  await auditLog.close();
  const attemptsUntilClosed = attempts;
  assert.ok(attemptsUntilClosed > 0);
  auditLog.add(record());
  await setImmediate();
  assert.equal(attempts, attemptsUntilClosed);
});

test('a batch that is inserted twice, because its first outcome is unknown, is stored once', async () => {
  const before = await storedCount();
  await insertAccountChecks(database, 1, [record(), record()]);
  await insertAccountChecks(database, 1, [record(), record(), record()]);
  assert.equal(await storedCount(), before + 3);
});

test('old records are deleted in batches, and no others', async () => {
  const auditLog = createAuditLog({ database, log, metrics });
  const before = await storedCount();
  // More than a batch, all with the same time.
  for (let count = 0; count < 600; count += 1) auditLog.add(record('2020-01-01T00:00:00.000Z'));
  await auditLog.close();
  assert.equal(await storedCount(), before + 600);
  const deleteBatch = () => deleteAccountChecks(database, '2020-01-01T00:00:00.001Z', 400);
  assert.deepEqual([await deleteBatch(), await deleteBatch(), await deleteBatch()], [400, 200, 0]);
  assert.equal(await storedCount(), before);
});
