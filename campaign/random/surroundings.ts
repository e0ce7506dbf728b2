import type { PostgresConnection } from '../../apps/server/src/postgres/primary-client.ts';
import { startTestValkey } from '../../test/support/valkey.ts';
import { startBank } from './bank.ts';
import { ownerOf } from './callbacks.ts';
import { createCanaries } from './canaries.ts';
import { createClients } from './clients.ts';
import { createDraws } from './draws.ts';
import { type Environment, writeRailsFile } from './environment.ts';
import { createKnownTransactions } from './known-transactions.ts';
import { findLastingPort } from './ports.ts';
import { startPostgresProxy } from './postgres-proxy.ts';
import { startReceiver } from './receiver.ts';
import type { CampaignRecord } from './record.ts';
import type { RoundContext } from './round-context.ts';
import { type ServiceProcess, startService } from './service.ts';

export interface SurroundingsOptions {
  readonly seed: number;
  readonly environment: Environment;
  readonly record: CampaignRecord;
  /** Starts a Valkey, in which the processes count together. */
  readonly hasValkey: boolean;
  /** An empty database of another server. By default one on the PostgreSQL of the environment, behind a proxy. */
  readonly database?: { readonly url: string; readonly connection: PostgresConnection };
}

/** Everything that the service needs: its database, the bank, the receiver, the clients. */
export async function openSurroundings(
  { seed, environment, record, hasValkey, database }: SurroundingsOptions,
  closers: AsyncDisposableStack,
) {
  const { postgres, certificate, bankKeys, bankClientSecret, authorityFile } = environment;
  const canaries = createCanaries(createDraws(seed, 'canaries'));
  canaries.add(bankClientSecret);
  const known = createKnownTransactions(createDraws(seed, 'transactions'), canaries);
  const name = `campaign_${seed}_${Date.now()}`;
  await postgres.query(`create database ${name}`);
  closers.defer(async () => void (await postgres.query(`drop database ${name} with (force)`)));
  const postgresProxy = await startPostgresProxy(postgres.socketPath);
  closers.defer(() => postgresProxy.close());
  const direct = postgres.database.connection.connectionString?.replace('/tiba?', `/${name}?`) ?? '';
  const connection = database?.connection ?? { connectionString: direct };
  const secrets = await createClients(connection, canaries);
  const bank = await startBank({ keys: bankKeys, clientSecret: bankClientSecret, certificate });
  closers.defer(() => bank.close());
  const receiver = await startReceiver({
    certificate,
    ownerOf: ownerOf(known),
    onCallback: () => record.count('callbacks'),
    onWrong: record.wrong,
  });
  closers.defer(() => receiver.close());
  const valkey = hasValkey ? await startTestValkey([], await findLastingPort()) : null;
  if (valkey !== null) closers.defer(() => valkey.stop());
  let disturbances = 0;
  let limits: ReturnType<RoundContext['limits']> = hasValkey ? 'shared' : 'per process';
  return {
    canaries,
    known,
    secrets,
    bank,
    receiver,
    postgresProxy,
    valkey,
    record,
    connection,
    limits: () => limits,
    onLimitsAlone() {
      if (limits === 'shared') limits = 'after an outage';
    },
    onLimitsLost: () => void (limits = 'unknown'),
    disturb: () => void (disturbances += 1),
    disturbances: () => disturbances,
    serviceSettings: {
      NODE_ENV: 'production',
      NODE_EXTRA_CA_CERTS: authorityFile,
      DATABASE_URL: database?.url ?? `postgres://tiba@127.0.0.1:${postgresProxy.port}/${name}?sslmode=disable`,
      TIBA_PUBLIC_URL: 'https://api.example.com',
      TIBA_MIGRATE: 'yes',
      TIBA_SECRET_KEY: Buffer.alloc(32, seed).toString('base64'),
      TIBA_RAILS_FILE: await writeRailsFile(environment, bank.url),
      TIBA_CALLBACK_NETWORKS: '127.0.0.1',
      TIBA_CALLBACK_PORTS: String(receiver.port),
      ...(valkey === null ? {} : { TIBA_VALKEY_URL: valkey.url }),
      TIBA_AUTHENTICATION_FAILURES_PER_MINUTE: '1000000',
      TIBA_EVENTS_PER_MINUTE: '1000000',
      TIBA_CALLBACKS_PER_MINUTE: '1000000',
      TIBA_BANKS_PER_MINUTE: '1000000',
      TIBA_ACCOUNT_VALIDATIONS_PER_MINUTE: '1000000',
      TIBA_TRANSACTIONS_PER_MINUTE: '1000000',
      TIBA_ACCOUNT_CHECKS_PER_MINUTE: '1000000',
    },
  };
}

export type Surroundings = Awaited<ReturnType<typeof openSurroundings>>;

/** Starts the service in `count` processes on the same database. */
export async function startProcesses(
  surroundings: Pick<Surroundings, 'record' | 'canaries' | 'disturbances' | 'serviceSettings' | 'onLimitsAlone'>,
  count: number,
  closers: AsyncDisposableStack,
  main?: () => string,
): Promise<ServiceProcess[]> {
  const { record, canaries, disturbances, onLimitsAlone, serviceSettings: settings } = surroundings;
  const processes: ServiceProcess[] = [];
  for (let index = 0; index < count; index += 1) {
    const service = startService({
      name: `service ${index + 1}`,
      port: await findLastingPort(),
      operatorPort: await findLastingPort(),
      settings,
      record,
      canaries,
      disturbances,
      onLimitsAlone,
      ...(main === undefined ? {} : { main }),
    });
    processes.push(service);
  }
  closers.defer(async () => void (await Promise.all(processes.map((each) => each.stop()))));
  return processes;
}
