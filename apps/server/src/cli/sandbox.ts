import { chmod, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { startApp } from '../app/start-app.ts';
import { readSettings } from '../config.ts';
import { createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import { lockDataDirectory } from '../embedded-postgres/lock.ts';
import { createLog } from '../observability/log.ts';
import { startSimulatedBank } from '../sandbox/bank-process.ts';
import { banner } from '../sandbox/banner.ts';
import { startDemoCore } from '../sandbox/demo-core.ts';
import { provideDemoData } from '../sandbox/demo-data.ts';
import { describeSandbox } from '../sandbox/description.ts';
import { askForHolders } from '../sandbox/holders.ts';
import { sandboxRoutes } from '../sandbox/operations.ts';
import { writePrivateFile } from '../sandbox/private-file.ts';
import { keepSecrets } from '../sandbox/secrets.ts';
import { closeAll } from './close-all.ts';
import { openPostgres } from './open-postgres.ts';
import { listenForStopSignal } from './stop-signal.ts';

/** `npm start`: everything on this machine, with a simulated bank and demo data. Needs no setting. */
export async function sandbox(): Promise<void> {
  const settings = readSettings('sandbox');
  const dataDirectory = path.resolve(settings.dataDirectory);
  const descriptionFile = path.join(dataDirectory, 'sandbox.json');
  const logFile = path.join(dataDirectory, 'tiba.log');
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  // A terminal that is closed takes no more words; unheard, that would end this process before it has stopped PostgreSQL.
  process.stdout.on('error', () => {});
  const closers: (() => Promise<unknown>)[] = [];
  const stopSignal = listenForStopSignal();

  try {
    // Before anything in it is touched: another sandbox may be running on it. Failing to make it, locking fails too, and
    // says what to do.
    await mkdir(dataDirectory, { recursive: true }).catch(() => {});
    const lock = lockDataDirectory(dataDirectory, path.join(dataDirectory, 'sandbox.lock'));
    closers.push(async () => lock.release());
    // Whoever waits for this file waits for this start to be ready, not for the one before.
    await rm(descriptionFile, { force: true });
    const secrets = await keepSecrets(path.join(dataDirectory, 'sandbox-secrets.json'));
    // An older sandbox made it for everybody to read.
    await chmod(logFile, 0o600).catch(() => {});
    const logging = createLog(logFile, settings.logLevel);
    closers.push(logging.close);

    const banks = createBankDirectory(bankEntries);
    const demoCore = await startDemoCore(banks, logging.log);
    closers.push(demoCore.close);
    const transfers = { journalFile: path.join(dataDirectory, 'bank-journal.ndjson'), notifyUrl: demoCore.notifyUrl };

    const [postgres, bank] = await settled([
      openPostgres(settings, say).then((opened) => (closers.push(opened.stop), opened)),
      startSimulatedBank(secrets, logging.log, transfers).then((started) => (closers.push(started.stop), started)),
    ]);
    const app = await startApp({
      environment: 'sandbox',
      settings: { ...settings, secretKey: secrets.secretKey },
      connection: postgres.connection,
      banks,
      rails: [bank.rail],
      operatorRoutes: sandboxRoutes(demoCore),
      logging,
    });
    closers.push(app.close);
    const findHolder = askForHolders(bank.rail, banks);
    await provideDemoData(app, secrets.clients, findHolder);
    demoCore.begin(app.feed, bank, findHolder);

    const description = await describeSandbox(app, secrets.clients);
    await writePrivateFile(descriptionFile, JSON.stringify(description, null, 2));
    say(banner(description, { descriptionFile, logFile, colours: process.stdout.isTTY }));
    await stopSignal.told;
    say('\nStopping …');
  } catch (error) {
    // Ctrl-C reaches whatever is being started, too: that it then fails is no news.
    if (!stopSignal.isTold()) throw error;
  } finally {
    await closeAll(closers).finally(stopSignal.release);
  }
}

/** Waits for both even when one fails, so that whatever did start is known and can be stopped. */
async function settled<A, B>([one, other]: [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
