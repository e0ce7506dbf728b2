import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pino from 'pino';
import { createAuditLog } from '../../apps/server/src/account-checks/audit-log.ts';
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

/** PostgreSQL comes and goes: no check that a bank was asked for is left without its record, and none has two. */

let server: PostgresServer;
let service: TestService;
let database: Database;
const log = pino({ level: 'silent' });
const metrics = createMetrics();

/** It notes whom it was asked about, and knows nobody. While it is held it answers nobody. */
const asked: string[] = [];
let held: PromiseWithResolvers<void> | undefined;
const rail: Rail = {
  name: 'noting',
  reaches: () => true,
  async inquireAccount({ accountNumber }) {
    asked.push(accountNumber.reveal());
    await held?.promise;
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

const written = async (): Promise<number> => (await storedChecks(server.database.connection)).length;

const AT_A_TIME = 8;

/** Whoever asks has got as far as the bank, and hears of nothing before `letGo`. */
async function holdAllAtTheBank(): Promise<void> {
  held = Promise.withResolvers();
  const before = asked.length;
  await eventually('all are asked about', () => asked.length >= before + AT_A_TIME);
}

function letGo(): void {
  held?.resolve();
  held = undefined;
}

const isReady = async (ready: boolean): Promise<boolean> => ((await probeStatus(service, '/readyz')) === 200) === ready;

test('what was asked while PostgreSQL went away, was frozen, and came back, is recorded once each', async (t) => {
  t.after(letGo);
  const asking = requestContinuously(t, check, AT_A_TIME);
  await eventually('some are written', async () => (await written()) > 50);
  await holdAllAtTheBank();
  await server.stop();
  letGo();
  await eventually('PostgreSQL is missed', () => isReady(false));
  await server.start();
  await assertRecovers(check);
  await holdAllAtTheBank();
  await server.freeze();
  letGo();
  await eventually('PostgreSQL is missed', () => isReady(false));
  server.resume();
  await assertRecovers(check);
  const answers = await asking.stop();
  const ids = answers
    .filter(({ answer }) => answer.status === 200)
    .map(({ answer }) => answer.headers.get('x-request-id'));
  await eventually('all are written', async () => (await written()) >= asked.length);
  const records = await storedChecks(server.database.connection);
  assert.equal(records.length, asked.length);
  const recorded = new Set(records.map(({ request_id: id }) => id));
  assert.equal(recorded.size, records.length);
  assert.ok(ids.length > 50 && ids.every((id) => recorded.has(id)));
});

test('when too many wait to be written, nothing more is let in until PostgreSQL is back', async () => {
  const records = createAuditLog({ database, log, metrics, pendingMax: 2 });
  const before = await written();
  await server.stop();
  records.add(record());
  records.requireCapacity();
  records.add(record());
  assert.throws(() => records.requireCapacity(), DatabaseUnavailable);
  await server.start();
  await eventually('there is room again', () => {
    try {
      records.requireCapacity();
      return true;
    } catch {
      return false;
    }
  });
  await records.close();
  assert.equal(await written(), before + 2);
});

test('a batch of which it is not known whether it was written is there once when it is written again', async () => {
  const before = await written();
  await insertAccountChecks(database, 1, [record(), record()]);
  await insertAccountChecks(database, 1, [record(), record(), record()]);
  assert.equal(await written(), before + 3);
});

test('old records are deleted little by little, and no others', async () => {
  const records = createAuditLog({ database, log, metrics });
  const before = await written();
  // More than a batch, all of the same moment.
  for (let count = 0; count < 600; count += 1) records.add(record('2020-01-01T00:00:00.000Z'));
  await records.close();
  assert.equal(await written(), before + 600);
  const deleted = () => deleteAccountChecks(database, '2020-01-01T00:00:00.001Z', 400);
  assert.deepEqual([await deleted(), await deleted(), await deleted()], [400, 200, 0]);
  assert.equal(await written(), before);
});
