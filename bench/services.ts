import path from 'node:path';
import { startSimulatedBank } from '../apps/server/src/sandbox/bank-process.ts';
import { loadOrCreateSecrets } from '../apps/server/src/sandbox/secrets.ts';
import type { BenchContext } from './bench-context.ts';
import { type Child, startChild } from './child.ts';
import type { BenchDatabase } from './database/databases.ts';
import { CLIENT_ID } from './database/prototypes.ts';
import type { RecordedResponse } from './load/record.ts';
import type { BaselineServerAddress } from './processes/baseline-server.ts';
import type { InstantBankAddress, InstantBankSettings } from './processes/instant-bank.ts';
import type { BenchRail, TibaServerAddress, TibaServerSettings } from './processes/tiba-server.ts';

/** The service under test: a process on the server's core. */
export interface Service extends Child<TibaServerAddress> {
  readonly logFile: string;
}

export interface ServiceOptions {
  /** Names its log file. */
  readonly name: string;
  readonly database: BenchDatabase;
  readonly batchMax?: number;
  readonly rail?: BenchRail;
  /** Where limits are counted; null, the default, for the process itself. */
  readonly valkeyUrl?: string | null;
  /** Where traces of each service in the process are sent; one without traces is the default. */
  readonly traces?: TibaServerSettings['traces'];
  /** Whether old records are removed on command (scale/removal.ts). */
  readonly hasRemoval?: boolean;
  /** Whether requests are rejected when there are too many, as in production. */
  readonly shedsLoad?: boolean;
  readonly nodeOptions?: readonly string[];
}

export async function startService(context: BenchContext, options: ServiceOptions): Promise<Service> {
  context.signal.throwIfAborted();
  const logFile = path.join(context.directory, `${options.name}.log`);
  const settings: TibaServerSettings = {
    connectionString: options.database.connectionString,
    secretKey: context.secretKey,
    logFile,
    clientId: CLIENT_ID,
    batchMax: options.batchMax ?? null,
    rail: options.rail ?? null,
    valkeyUrl: options.valkeyUrl ?? null,
    traces: options.traces ?? [null],
    hasRemoval: options.hasRemoval ?? false,
    shedsLoad: options.shedsLoad ?? false,
  };
  const { cores, directory } = context;
  const { nodeOptions = [] } = options;
  const child = await startChild<TibaServerAddress>({
    file: 'tiba-server.ts',
    settings,
    cores,
    nodeOptions,
    directory,
  });
  context.closers.defer(child.stop);
  return { ...child, logFile };
}

/** Also on the server's core, because the service is compared with it. */
export async function startBaselineServer(
  context: BenchContext,
  response: RecordedResponse,
): Promise<Child<BaselineServerAddress>> {
  context.signal.throwIfAborted();
  const { cores, directory } = context;
  const file = 'baseline-server.ts';
  const child = await startChild<BaselineServerAddress>({ file, settings: response, cores, directory });
  context.closers.defer(child.stop);
  return child;
}

/** Starts a bank that answers at once, or after `delayMs`, and checks nothing. Resolves to the rail to it. */
export async function startInstantBank(context: BenchContext, delayMs = 0): Promise<BenchRail> {
  context.signal.throwIfAborted();
  const { directory } = context;
  const secrets = await bankSecrets(context);
  const settings: InstantBankSettings = { delayMs };
  const child = await startChild<InstantBankAddress>({ file: 'instant-bank.ts', settings, cores: null, directory });
  context.closers.defer(child.stop);
  return {
    name: 'instant-bank',
    baseUrl: child.address.baseUrl,
    clientKey: 'bench',
    clientSecret: secrets.bankClientSecret,
    privateKeyPem: secrets.bankPrivateKey,
    partnerId: 'BENCH',
    channelId: '95221',
    ownBank: 'CENAIDJA',
  };
}

/** Starts the simulated bank of the sandbox, which checks every signature. Resolves to the rail to it. */
export async function startSignatureCheckingBank(context: BenchContext): Promise<BenchRail> {
  context.signal.throwIfAborted();
  const secrets = await bankSecrets(context);
  const bank = await startSimulatedBank(secrets, context.log);
  context.closers.defer(bank.stop);
  const { privateKey: _, banks: __, wallets: ___, ...connection } = bank.connection;
  return { ...connection, privateKeyPem: secrets.bankPrivateKey };
}

const bankSecrets = (context: BenchContext) => loadOrCreateSecrets(path.join(context.directory, 'bank-secrets.json'));
