import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import pino from 'pino';
import { createSeal, hashSecret, type Seal } from '../../apps/server/src/auth/secrets.ts';
import { type CallbackDispatcher, createDispatcher } from '../../apps/server/src/callbacks/dispatcher.ts';
import { createCallbackSender } from '../../apps/server/src/callbacks/send.ts';
import { parseUpdate } from '../../apps/server/src/feed/parse-update.ts';
import type { Log } from '../../apps/server/src/observability/log.ts';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import { createGuardedHttp } from '../../apps/server/src/outbound/guarded-http.ts';
import { takeOutOfRanges } from '../../apps/server/src/postgres/callback-outbox-ranges.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import type { EndpointKey } from '../../apps/server/src/postgres/due-endpoints.ts';
import { prepareDatabase } from '../../apps/server/src/postgres/prepare-database.ts';
import { createTransactionUpdater } from '../../apps/server/src/transactions/transaction-updater.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { controlDatabaseClock, type DatabaseClock } from '../support/database-clock.ts';
import { listenForDue } from '../support/due-notices.ts';
import { eventually } from '../support/eventually.ts';
import { statusUpdate, testBanks } from '../support/service.ts';

export const SECRET_KEY = Buffer.alloc(32, 7);
const KINDS = ['disbursement.succeeded', 'disbursement.failed', 'disbursement.overdue', 'disbursement.reversed'];

export interface Endpoint extends EndpointKey {
  readonly secret: string;
}

/** A delivery with its attempts. */
export interface DeliveryState {
  readonly id: string;
  readonly state: 'pending' | 'delivered' | 'exhausted';
  readonly attempts: number;
  readonly next_attempt_at: Date;
  readonly results: readonly {
    readonly attempt: number;
    readonly http_status: number | null;
    readonly answer: string | null;
    readonly error: string | null;
    /** When it ended, in milliseconds since 1970. */
    readonly ended_ms: number;
  }[];
}

export interface EndpointState {
  readonly failing_since: Date | null;
  readonly disabled_at: Date | null;
  readonly disabled_reason: string | null;
}

/** The running clocks of PostgreSQL and of the processes, which tests can advance. */
export interface TestClock {
  /** The clock of the processes, in milliseconds since 1970. */
  (): number;
  /** Advances both clocks. */
  advance(ms: number): Promise<void>;
}

/** Deliveries on a real database, without the rest of the service. */
export interface DeliverySetup {
  readonly database: Database;
  readonly testDatabase: TestDatabase;
  readonly logged: Record<string, unknown>[];
  readonly clock: TestClock;
  addEndpoint(url: string, kinds?: readonly string[]): Promise<Endpoint>;
  /** Applies updates that `count` new transactions have succeeded. Returns the expected webhook-ids. */
  succeed(count: number): Promise<string[]>;
  /** Gives each delivery to the endpoint a row of its own, as a claim does. */
  takeOutOfRanges(endpoint: EndpointKey): Promise<void>;
  /** Starts another dispatcher with its own connections, like another process. It closes with the test. */
  startDispatcher(context: TestContext): CallbackDispatcher;
  deliveriesTo(endpoint: EndpointKey): Promise<readonly DeliveryState[]>;
  /** Resolves with the deliveries when `count` attempts in total are recorded. */
  untilAttempts(endpoint: EndpointKey, count: number): Promise<readonly DeliveryState[]>;
  endpointState(endpoint: EndpointKey): Promise<EndpointState>;
}

export async function setUpDeliveries(): Promise<DeliverySetup & { close(): Promise<void> }> {
  const testDatabase = await createTestDatabase();
  const databaseClock = await controlDatabaseClock(testDatabase);
  const logged: Record<string, unknown>[] = [];
  const log = pino({ base: null }, collector(logged));
  const seal = createSeal(SECRET_KEY);
  const database = openDatabase({ connection: testDatabase.connection, connectionsMax: 4, log });
  await prepareDatabase(database, { environment: 'sandbox', migrate: true });
  const secretHash = hashSecret('unused');
  const limits = { 'check-status': 0, 'check-account': 0 };
  await insertClient(database, { clientId: 'alpha', name: 'alpha', secretHash, scopes: [], limits });
  const clock = createTestClock(databaseClock);

  return {
    database,
    testDatabase,
    logged,
    clock,
    async addEndpoint(url, kinds = KINDS) {
      const endpointId = `ep_${randomBytes(6).toString('hex')}`;
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      await database.query(
        `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
         values ('alpha', $1, $2, $3, $4)`,
        [endpointId, url, kinds, seal.seal(secret)],
      );
      return { clientId: 'alpha', endpointId, secret };
    },
    succeed: createSuccesses(database),
    takeOutOfRanges: (endpoint) =>
      database.transaction((query) => takeOutOfRanges(query, endpoint, { first: 1, last: 1_000_000 })),
    startDispatcher: (context) => startDispatcher(context, { testDatabase, seal, log, clock }),
    deliveriesTo: (endpoint) => deliveriesTo(database, endpoint),
    async untilAttempts(endpoint, count) {
      let deliveries = await deliveriesTo(database, endpoint);
      await eventually(`${count} recorded attempts`, async () => {
        deliveries = await deliveriesTo(database, endpoint);
        return deliveries.reduce((sum, { results }) => sum + results.length, 0) >= count;
      });
      return deliveries;
    },
    endpointState: (endpoint) => endpointState(database, endpoint),
    async close() {
      await databaseClock.close();
      await database.close();
      await testDatabase.drop();
    },
  };
}

function createTestClock(databaseClock: DatabaseClock): TestClock {
  let aheadMs = 0;
  return Object.assign(() => Date.now() + aheadMs, {
    async advance(ms: number) {
      aheadMs += ms;
      await databaseClock.advance(ms);
    },
  });
}

function createSuccesses(database: Database): DeliverySetup['succeed'] {
  const updater = createTransactionUpdater({
    database,
    expectedMs: () => 1_800_000,
    firstInquiryMs: 5_000,
    now: Date.now,
    versionFloor: () => 0,
  });
  let created = 0;
  return async (count) => {
    const ids = Array.from({ length: count }, () => `TB${String((created += 1)).padStart(10, '0')}`);
    const messages = ids.map((id) =>
      statusUpdate({
        transaction_id: id,
        reference_id: id,
        status: 'SUCCESS',
        processed_at: '2026-11-21T04:40:00.000Z',
      }),
    );
    const updates = messages.map((message, index) => ({
      line: index + 1,
      source: 'core',
      raw: JSON.stringify(message),
      update: parseUpdate(message, testBanks),
    }));
    await updater.apply(updates);
    return ids.map((id) => `evt_${id}_1`);
  };
}

interface DispatcherSetup {
  readonly testDatabase: TestDatabase;
  readonly seal: Seal;
  readonly log: Log;
  readonly clock: TestClock;
}

function startDispatcher(
  context: TestContext,
  { testDatabase, seal, log, clock }: DispatcherSetup,
): CallbackDispatcher {
  const { connection } = testDatabase;
  const http = createGuardedHttp({ policy: { ports: [], allowed: [], loopbackHttp: true } });
  const database = openDatabase({ connection, connectionsMax: 3, log });
  const send = createCallbackSender({ http, seal, now: clock });
  const { dueNotices, listening } = listenForDue(connection, log);
  const dispatcher = createDispatcher({ database, dueNotices, send, log, metrics: createMetrics() });
  context.after(async () => {
    await (await listening).close();
    await dispatcher.close();
    await database.close();
    await http.close();
  });
  return dispatcher;
}

function deliveriesTo(database: Database, { clientId, endpointId }: EndpointKey): Promise<readonly DeliveryState[]> {
  return database.query<DeliveryState & Record<string, unknown>>(
    `select 'evt_' || v.subject_id || '_' || v.version as id, d.state, d.attempts, d.next_attempt_at,
            coalesce((select json_agg(json_build_object('attempt', a.attempt, 'http_status', a.http_status,
                                        'answer', a.answer, 'error', a.error,
                                        'ended_ms', extract(epoch from a.started_at) * 1000 + a.duration_ms)
                                      order by a.attempt)
                        from tiba.callback_attempts a
                       where a.client_id = d.client_id and a.endpoint_id = d.endpoint_id and a.sequence = d.sequence),
                     '[]') as results
       from tiba.callback_deliveries d join tiba.events v using (client_id, sequence)
      where d.client_id = $1 and d.endpoint_id = $2 order by d.sequence`,
    [clientId, endpointId],
  );
}

async function endpointState(database: Database, { clientId, endpointId }: EndpointKey): Promise<EndpointState> {
  const [state] = await database.query<EndpointState & Record<string, unknown>>(
    `select failing_since, disabled_at, disabled_reason from tiba.callback_endpoints
      where client_id = $1 and endpoint_id = $2`,
    [clientId, endpointId],
  );
  if (state === undefined) throw new Error(`unknown endpoint ${endpointId}`);
  return state;
}

function collector(lines: Record<string, unknown>[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) if (line !== '') lines.push(JSON.parse(line));
      done();
    },
  });
}
