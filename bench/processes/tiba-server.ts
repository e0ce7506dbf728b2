// The service as in production, except for its data and its limits: with authentication, exact limits that are never
// reached, metrics, and an access log that is written to a file.

import { createPrivateKey } from 'node:crypto';
import { startApp } from '../../apps/server/src/app/start-app.ts';
import { readSettings } from '../../apps/server/src/config/config.ts';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { createLog } from '../../apps/server/src/observability/log.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { NOT_SHARED } from '../../apps/server/src/rails/resilience/limits.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { runAsChild } from '../as-child.ts';
import { startControlServer } from '../end-to-end/control.ts';
import { createRemoval, type RemovalRange } from '../scale/removal.ts';

export interface TibaServerSettings {
  readonly connectionString: string;
  /** In base64. The same for all services that share a database. */
  readonly secretKey: string;
  readonly logFile: string;
  readonly clientId: string;
  /** null for the service's default. */
  readonly batchMax: number | null;
  /** null for a service that gets only check-status requests. */
  readonly rail: BenchRail | null;
  /** null for limits that are counted in the process. */
  readonly valkeyUrl: string | null;
  /** Of each service in this process. */
  readonly traces: readonly [Traces | null, ...(Traces | null)[]];
  /** Whether old records are removed on command. */
  readonly hasRemoval: boolean;
  /** Whether requests are rejected when there are too many. */
  readonly shedsLoad: boolean;
}

/** The collector, and the share of the requests that are traced. */
export interface Traces {
  readonly url: string;
  readonly sampled: number;
}

/** A connection to a bank that can be sent to another process: the key as PEM. */
export type BenchRail = Omit<SnapSettings, 'privateKey' | 'banks' | 'wallets'> & { readonly privateKeyPem: string };

export interface ServiceAddress {
  readonly publicUrl: string;
  readonly operatorUrl: string;
  readonly token: string;
}

/** The address of the first service. */
export interface TibaServerAddress extends ServiceAddress {
  /** Of the other services. */
  readonly others: readonly ServiceAddress[];
  /** Where it takes commands, if any. */
  readonly controlUrl: string | null;
}

const TOKEN_SECONDS = 3_600;
/**
 * For kinds of records that are removed on command. The service's own retention would remove the same events beside it,
 * although they are younger than its days: it removes all events up to `removed_up_to`.
 */
const KEPT_WITHOUT_LIMIT = { callbackDays: 0, eventDays: 0, transactionDays: 0 };

await runAsChild<TibaServerAddress>(async (sent) => {
  const input = sent as TibaServerSettings;
  const [first, ...rest] = input.traces;
  const service = await startService(input, first);
  const others: RunningService[] = [];
  for (const traces of rest) others.push(await startService(input, traces));
  const control = input.hasRemoval ? await startRemovalControl(service.database) : null;
  return {
    address: { ...service.address, others: others.map(({ address }) => address), controlUrl: control?.url ?? null },
    async close() {
      await control?.close();
      for (const each of [service, ...others]) await each.close();
    },
  };
});

interface RunningService {
  readonly address: ServiceAddress;
  readonly database: Database;
  close(): Promise<void>;
}

async function startService(input: TibaServerSettings, traces: Traces | null): Promise<RunningService> {
  // Only the settings named here: others in the environment would change what is measured.
  const settings = readSettings('sandbox', {
    TIBA_PORT: '0',
    TIBA_OPERATOR_PORT: '0',
    // As much load as the server can take is the purpose.
    ...(input.shedsLoad ? {} : { TIBA_EVENT_LOOP_DELAY_MS: '0' }),
    // 5,000 clients wait, all of them on this machine.
    TIBA_CONNECTIONS_PER_ADDRESS: '10000',
    ...(traces === null ? {} : tracingSettings(traces)),
  });
  const logging = createLog(input.logFile, settings.logLevel);
  const app = await startApp({
    environment: 'sandbox',
    // Counted exactly like any limit, and never reached.
    settings: {
      ...settings,
      // Searches are measured with one access token.
      tokenAccountSearches: 1_000_000,
      accountsPerDay: 10_000_000,
      transactionsPerMinute: 100_000_000,
      secretKey: Buffer.from(input.secretKey, 'base64'),
      valkeyUrl: input.valkeyUrl,
      ...(input.hasRemoval ? KEPT_WITHOUT_LIMIT : {}),
    },
    connection: { connectionString: input.connectionString },
    banks: createBankDirectory(bankEntries),
    rails: input.rail === null ? [] : [createSnapRail(toSnapSettings(input.rail))],
    // The servers share a database, and each is measured as if it were the only one.
    inquiries: { sharing: NOT_SHARED },
    logging,
    ...(input.batchMax === null ? {} : { lookUp: { batchMax: input.batchMax } }),
  });
  await app.clients.reload();
  const client = app.clients.find(input.clientId);
  if (client === undefined) throw new Error(`the database has no client ${input.clientId}`);
  const token = await app.issue(client, [...client.scopes], TOKEN_SECONDS);
  return {
    address: { publicUrl: app.publicUrl, operatorUrl: app.operatorUrl, token },
    database: app.database,
    async close() {
      await app.close();
      await logging.close();
    },
  };
}

async function startRemovalControl(database: Database) {
  const removal = createRemoval(database);
  const control = await startControlServer({
    beginRemoval: (range) => removal.begin(range as RemovalRange),
    pauseRemoval: () => removal.pause(),
  });
  return {
    url: control.url,
    async close() {
      control.close();
      await removal.pause();
    },
  };
}

function tracingSettings({ url, sampled }: Traces) {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(sampled),
  };
}

function toSnapSettings({ privateKeyPem, ...rail }: BenchRail): SnapSettings {
  return { ...rail, privateKey: createPrivateKey(privateKeyPem), banks: null };
}
