import path from 'node:path';
import { startSimulatedBank } from '../apps/server/src/sandbox/bank-process.ts';
import { loadOrCreateSecrets } from '../apps/server/src/sandbox/secrets.ts';
import type { BenchContext } from './bench-context.ts';
import { type Child, startChild } from './child.ts';
import type { BenchDatabase } from './database/databases.ts';
import { CLIENT_ID } from './database/prototypes.ts';
import type { RecordedAnswer } from './load/record.ts';
import type { BareServerAddress } from './processes/bare-server.ts';
import type { InstantBankAddress } from './processes/instant-bank.ts';
import type { BenchRail, TibaServerAddress, TibaServerSettings } from './processes/tiba-server.ts';

/** The service under test: a process on the server's core. */
export interface Service extends Child<TibaServerAddress> {
  readonly logFile: string;
}

export interface ServiceOptions {
  /** Names its log. */
  readonly name: string;
  readonly database: BenchDatabase;
  readonly batchMax?: number;
  readonly rail?: BenchRail;
  readonly nodeOptions?: readonly string[];
}

export async function startService(stage: BenchContext, options: ServiceOptions): Promise<Service> {
  stage.signal.throwIfAborted();
  const logFile = path.join(stage.directory, `${options.name}.log`);
  const settings: TibaServerSettings = {
    connectionString: options.database.connectionString,
    secretKey: stage.secretKey,
    logFile,
    clientId: CLIENT_ID,
    batchMax: options.batchMax ?? null,
    rail: options.rail ?? null,
  };
  const { cores, directory } = stage;
  const { nodeOptions = [] } = options;
  const child = await startChild<TibaServerAddress>({
    file: 'tiba-server.ts',
    settings,
    cores,
    nodeOptions,
    directory,
  });
  stage.closers.defer(child.stop);
  return { ...child, logFile };
}

/** On the server's core too: it is what the service is measured against. */
export async function startBareServer(stage: BenchContext, answer: RecordedAnswer): Promise<Child<BareServerAddress>> {
  stage.signal.throwIfAborted();
  const { cores, directory } = stage;
  const child = await startChild<BareServerAddress>({ file: 'bare-server.ts', settings: answer, cores, directory });
  stage.closers.defer(child.stop);
  return child;
}

/** A bank that answers at once and checks nothing, and the way to it. */
export async function startInstantBank(stage: BenchContext): Promise<BenchRail> {
  stage.signal.throwIfAborted();
  const { directory } = stage;
  const secrets = await bankSecrets(stage);
  const child = await startChild<InstantBankAddress>({ file: 'instant-bank.ts', settings: {}, cores: null, directory });
  stage.closers.defer(child.stop);
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

/** The simulated bank of the sandbox, which checks every signature, and the way to it. */
export async function startSignatureCheckingBank(stage: BenchContext): Promise<BenchRail> {
  stage.signal.throwIfAborted();
  const secrets = await bankSecrets(stage);
  const bank = await startSimulatedBank(secrets, stage.log);
  stage.closers.defer(bank.stop);
  const { privateKey: _, banks: __, ...connection } = bank.connection;
  return { ...connection, privateKeyPem: secrets.bankPrivateKey };
}

const bankSecrets = (stage: BenchContext) => loadOrCreateSecrets(path.join(stage.directory, 'bank-secrets.json'));
