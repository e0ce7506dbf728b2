import type { BenchContext } from '../bench-context.ts';
import { type BenchDatabase, makeDatabase } from '../database/databases.ts';
import { type Service, startService } from '../services.ts';
import { createTransactionIds, type TransactionIds } from './feed-updates.ts';
import { createFeeder, type Feeder } from './feeder.ts';
import { withClient } from './postgres.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** A service with a database of its own, and the core that feeds it. */
export interface ServiceUnderTest {
  readonly service: Service;
  readonly connectionString: string;
  readonly feeder: Feeder;
  readonly transactionIds: TransactionIds;
}

export interface CallbackServiceUnderTest extends ServiceUnderTest {
  /** The receiver whose callbacks are measured. It answers. */
  readonly receiver: Receiver;
  /** How many callbacks this receiver should have got when all have been delivered. */
  expectedCallbacks: number;
  stop(): Promise<void>;
}

export interface ServiceUnderTestOptions {
  /** Also names its database. */
  readonly name: string;
  /** Transactions that its database holds from the start. */
  readonly existing: number;
}

export async function startServiceUnderTest(
  context: BenchContext,
  { name, existing }: ServiceUnderTestOptions,
): Promise<ServiceUnderTest> {
  const database = await makePopulatedDatabase(context, `bench_${name}`, existing);
  const service = await startService(context, { name, database });
  const feeder = createFeeder(service, context.signal);
  context.closers.defer(feeder.close);
  const { connectionString } = database;
  return { service, connectionString, feeder, transactionIds: createTransactionIds(existing) };
}

/** A database that holds transactions from the start: PostgreSQL plans differently for tables that are almost empty. */
async function makePopulatedDatabase(context: BenchContext, name: string, rows: number): Promise<BenchDatabase> {
  const database = await makeDatabase(context, name, rows);
  await withClient(database.connectionString, async (client) => {
    // Otherwise they are overdue, and their client would be notified of each of them during a measurement.
    await client.query(`update tiba.transactions set expected_by = now() + interval '1 day' where status = 'PROCESS'`);
    await client.query('vacuum (analyze) tiba.transactions');
  });
  return database;
}

/**
 * With an endpoint whose receiver answers. With `secondEndpoint`, another endpoint gets the same events: its receiver
 * answers, or never does.
 */
export async function startCallbackServiceUnderTest(
  context: BenchContext,
  options: ServiceUnderTestOptions & { readonly secondEndpoint: 'none' | 'answers' | 'hangs' },
): Promise<CallbackServiceUnderTest> {
  const serviceUnderTest = await startServiceUnderTest(context, options);
  const { service } = serviceUnderTest;
  const receiver = await startReceiver(context);
  await registerEndpoint(service, receiver);
  const second = options.secondEndpoint === 'none' ? null : await startReceiver(context);
  if (second !== null) {
    if (options.secondEndpoint === 'hangs') await second.pause();
    await registerEndpoint(service, second);
  }
  return {
    ...serviceUnderTest,
    receiver,
    expectedCallbacks: 0,
    async stop() {
      // The receivers first: deliveries in flight then fail at once, and the service does not wait for them.
      await second?.stop();
      await receiver.stop();
      await service.stop();
    },
  };
}

async function registerEndpoint({ address }: Service, { url }: Receiver): Promise<void> {
  const response = await fetch(`${address.publicUrl}/api/v1/callback-endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${address.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  });
  if (response.status !== 201) throw new Error(`registering the endpoint failed: ${await response.text()}`);
}
