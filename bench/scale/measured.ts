import pg from 'pg';
import { Pool } from 'undici';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import type { BenchContext } from '../bench-context.ts';
import { createTransactionIds } from '../end-to-end/feed-updates.ts';
import { createFeeder, type Feeder } from '../end-to-end/feeder.ts';
import { residentKib } from '../process-stats.ts';
import { type Service, startService } from '../services.ts';
import { makeScaleDatabase, type ScaleDatabase } from './fill.ts';

/** A database with what measures it. */
export interface Measured {
  readonly database: ScaleDatabase;
  readonly service: Service;
  readonly startMs: number;
  readonly startKib: number;
  /** To PostgreSQL, for questions about it. */
  readonly client: pg.Client;
  /** As the service uses PostgreSQL, for statements that it runs by itself. */
  readonly statements: Database;
  readonly publicPool: Pool;
  readonly operatorPool: Pool;
  readonly feeder: Feeder;
  readonly ids: ReturnType<typeof createTransactionIds>;
}

export async function openMeasured(context: BenchContext, name: string, rows: number): Promise<Measured> {
  const { closers, log, signal } = context;
  const database = await makeScaleDatabase(context, name, rows);
  const { connectionString } = database;
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  closers.defer(() => client.end());
  // The first start on a machine compiles the code, and the first on a database creates its keys.
  await (await startService(context, { name: `${name}-first`, database })).stop();
  const startedMs = performance.now();
  const service = await startService(context, { name, database, hasRemoval: true });
  const startMs = performance.now() - startedMs;
  const statements = openDatabase({ connection: { connectionString }, connectionsMax: 1, log });
  const publicPool = new Pool(service.address.publicUrl, { connections: 1 });
  const operatorPool = new Pool(service.address.operatorUrl, { connections: 1 });
  const feeder = createFeeder(service, signal);
  closers.defer(async () => {
    await Promise.all([publicPool.close(), operatorPool.close(), feeder.close(), statements.close()]);
  });
  return {
    database,
    service,
    startMs,
    startKib: await residentKib(service.pid),
    client,
    statements,
    publicPool,
    operatorPool,
    feeder,
    ids: createTransactionIds(rows),
  };
}
