import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TestDatabase } from '../support/database.ts';
import {
  type Answer,
  startTestService,
  statusUpdate,
  type TestService,
  type TestServiceOptions,
} from '../support/service.ts';
import { type PostgresServer, type PostgresServerOptions, startPostgresServer } from './postgres-server.ts';
import { type PostgresProxy, startPostgresProxy } from './proxy.ts';

/** The service on a PostgreSQL of its own. Both end with the test file that started them. */
export interface ServiceOnPostgres {
  readonly server: PostgresServer;
  readonly service: TestService;
  /** Looks up the one transaction that is stored at the start. */
  checkStatus(): Promise<Answer>;
  /** Feeds the first update of a transaction. Its reference is its ID. */
  feedTransaction(transactionId: string): Promise<Answer>;
}

export interface ServiceOnPostgresOptions {
  readonly postgres?: PostgresServerOptions;
  readonly service?: Omit<TestServiceOptions, 'database'>;
}

export async function startServiceOnPostgres(options: ServiceOnPostgresOptions = {}): Promise<ServiceOnPostgres> {
  const server = await startPostgresServer(options.postgres);
  const release = (): Promise<void> => server.remove();
  return startService(server, { database: server.database, options, release });
}

/** As `startServiceOnPostgres`, with a proxy between the service and PostgreSQL. */
export async function startServiceBehindProxy(
  options: ServiceOnPostgresOptions = {},
): Promise<ServiceOnPostgres & { readonly proxy: PostgresProxy }> {
  const server = await startPostgresServer(options.postgres);
  const proxy = await startPostgresProxy(server.socketPath);
  const release = async (): Promise<void> => {
    await proxy.close();
    await server.remove();
  };
  const database = { connection: proxy.connection, drop: async () => {} };
  return { ...(await startService(server, { database, options, release })), proxy };
}

interface ServiceStart {
  readonly database: TestDatabase;
  readonly options: ServiceOnPostgresOptions;
  readonly release: () => Promise<void>;
}

async function startService(
  server: PostgresServer,
  { database, options, release }: ServiceStart,
): Promise<ServiceOnPostgres> {
  const service = await startTestService({ rails: [], ...options.service, database }).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  after(async () => {
    server.resume();
    await service.close();
    await release();
  });
  // As of now: one that is overdue has an event of its own some time during the tests.
  const update = statusUpdate({ created_at: new Date().toISOString() });
  assert.equal((await service.feed(update)).status, 200);
  return {
    server,
    service,
    checkStatus: () => service.get('/api/v1/check-status/TB0000000001'),
    feedTransaction: (id) => service.feed(statusUpdate({ transaction_id: id, reference_id: id })),
  };
}
