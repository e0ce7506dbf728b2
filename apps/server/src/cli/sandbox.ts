import { chmod, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { startApp } from '../app/start-app.ts';
import { readSettings, SETTINGS, type Settings } from '../config/config.ts';
import { createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import { lockDataDirectory } from '../embedded-postgres/lock.ts';
import { type ListenAddress, requireFree } from '../http/listen.ts';
import { createLog } from '../observability/log.ts';
import { startSimulatedBank } from '../sandbox/bank-process.ts';
import { banner } from '../sandbox/banner.ts';
import { startDemoCore } from '../sandbox/demo-core.ts';
import { loadDemoData, lookUpHolders } from '../sandbox/demo-data.ts';
import { startDemoTraffic } from '../sandbox/demo-traffic.ts';
import { describeSandbox, SNAP_PRIVATE_KEY_FILE } from '../sandbox/description.ts';
import { descriptionFileIn } from '../sandbox/description-file.ts';
import { sandboxRoutes } from '../sandbox/operations.ts';
import { loadOrCreateSecrets, writePrivateFile } from '../sandbox/secrets.ts';
import { openPostgres } from './open-postgres.ts';
import { closeAll, listenForStopSignal } from './shutdown.ts';

/** Of the SNAP listener, which production has only if it is set. */
const SNAP_PORT = 8082;

/** `npm start`: everything on this machine, with a simulated bank and demo data. Needs no setting. */
export async function sandbox(): Promise<void> {
  const settings = readSettings('sandbox');
  const dataDirectory = path.resolve(settings.dataDirectory);
  const descriptionFile = descriptionFileIn(dataDirectory);
  const logFile = path.join(dataDirectory, 'tiba.log');
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  // Writing to a closed terminal is an error. Without a listener it would end this process before PostgreSQL is
  // stopped.
  process.stdout.on('error', () => {});
  const closers: (() => Promise<unknown>)[] = [];
  const stopSignal = listenForStopSignal();

  try {
    // The lock comes before any change in the directory: another sandbox may be running on it. If the directory cannot
    // be created, locking fails too, and its message says what to do.
    await mkdir(dataDirectory, { recursive: true }).catch(() => {});
    const lock = lockDataDirectory(dataDirectory, path.join(dataDirectory, 'sandbox.lock'));
    closers.push(async () => lock.release());
    await requireFree(addressesOf(settings));
    // A program that waits for this file waits for this start, not for an earlier one.
    await rm(descriptionFile, { force: true });
    const secrets = await loadOrCreateSecrets(path.join(dataDirectory, 'sandbox-secrets.json'));
    // An older sandbox created it readable for every user.
    await chmod(logFile, 0o600).catch(() => {});
    const logging = createLog(logFile, settings.logLevel);
    closers.push(logging.close);

    const banks = createBankDirectory(bankEntries);
    const demoCore = await startDemoCore(banks, logging.log);
    closers.push(demoCore.close);
    const transfers = { journalFile: path.join(dataDirectory, 'bank-journal.ndjson'), notifyUrl: demoCore.notifyUrl };

    const [postgres, bank] = await startBoth([
      openPostgres(settings, print).then((opened) => (closers.push(opened.stop), opened)),
      startSimulatedBank(secrets, logging.log, transfers).then((started) => (closers.push(started.stop), started)),
    ]);
    const app = await startApp({
      environment: 'sandbox',
      settings: {
        ...settings,
        secretKey: secrets.secretKey,
        snapPort: snapPortOf(settings),
        // The simulated bank's.
        snapOwnBank: settings.snapOwnBank ?? 'BCA',
      },
      connection: postgres.connection,
      banks,
      rails: [bank.rail],
      operatorRoutes: sandboxRoutes(demoCore),
      logging,
    });
    closers.push(app.close);
    const findHolder = lookUpHolders(bank.rail, banks);
    await loadDemoData(app, secrets, findHolder);
    await writePrivateFile(path.join(dataDirectory, SNAP_PRIVATE_KEY_FILE), secrets.snap.privateKey.trim());
    demoCore.connect(app.feed, bank, findHolder);
    if (settings.demoTransactions) closers.push(startDemoTraffic(demoCore, logging.log).stop);

    const description = await describeSandbox(app, secrets);
    await writePrivateFile(descriptionFile, JSON.stringify(description, null, 2));
    print(banner(description, { descriptionFile, logFile, colors: process.stdout.isTTY }));
    await stopSignal.received;
    print('\nStopping …');
  } catch (error) {
    // Ctrl-C also reaches the programs that are being started: a start that fails because of it is not an error.
    if (!stopSignal.wasReceived()) throw error;
  } finally {
    await closeAll(closers).finally(stopSignal.release);
  }
}

const snapPortOf = ({ snapPort }: Settings): number => snapPort ?? SNAP_PORT;

/** All of them, so that a second sandbox on this machine is told of each at once. */
const addressesOf = (settings: Settings): ListenAddress[] => {
  const { host, port, operatorHost, operatorPort } = settings;
  const forClients = { host, hostSetting: SETTINGS.host.name };
  return [
    { ...forClients, port, portSetting: SETTINGS.port.name },
    {
      host: operatorHost,
      port: operatorPort,
      hostSetting: SETTINGS.operatorHost.name,
      portSetting: SETTINGS.operatorPort.name,
    },
    { ...forClients, port: snapPortOf(settings), portSetting: SETTINGS.snapPort.name },
  ];
};

/** Waits for both even when one fails, so that the one that did start is registered and can be stopped. */
async function startBoth<A, B>([one, other]: [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
