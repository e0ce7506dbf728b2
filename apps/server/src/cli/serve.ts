import { startApp } from '../app/start-app.ts';
import { SettingsError, validateSettings } from '../config.ts';
import { createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import { createLog } from '../observability/log.ts';
import type { Connection } from '../rails/protocol.ts';
import { readRailsFile } from '../rails/rails-file.ts';
import type { Contract } from '../rails/resilience/settings.ts';
import { closeAll } from './close-all.ts';
import { openPostgres } from './open-postgres.ts';
import { listenForStopSignal } from './stop-signal.ts';

const STDOUT = 1;

/** The production form: no demo data, no simulated bank, and no start before every setting is there. */
export async function serve(): Promise<void> {
  const { settings, faults } = validateSettings('serve');
  const banks = createBankDirectory(bankEntries);
  const { secretKey, railsFile } = settings;
  const rails = railsFile === null ? { faults: [] } : readRailsFile(railsFile, banks);
  if (faults.length > 0 || 'faults' in rails || secretKey === null) {
    throw new SettingsError('faults' in rails ? [...faults, ...rails.faults] : faults);
  }

  const logging = createLog(STDOUT, settings.logLevel);
  const { log } = logging;
  const closers: (() => Promise<unknown>)[] = [logging.close];
  const stopSignal = listenForStopSignal();
  try {
    const postgres = await openPostgres(
      settings,
      (line) => log.info(line),
      (line) => log.error(line),
    );
    closers.push(postgres.stop);
    const app = await startApp({
      environment: 'production',
      settings: { ...settings, secretKey },
      connection: postgres.connection,
      banks,
      rails: rails.connections.map((connection) => connection.open()),
      inquiries: { routes: rails.routes, contracts: contractsOf(rails.connections) },
      logging,
    });
    closers.push(app.close);
    log.info({ signal: await stopSignal.told }, 'stopping');
  } catch (error) {
    // Ctrl-C reaches whatever is being started, too: that it then fails is no news.
    if (!stopSignal.isTold()) throw error;
  } finally {
    await closeAll(closers).finally(stopSignal.release);
  }
}

/** By the connection's name. */
const contractsOf = (connections: readonly Connection[]): ReadonlyMap<string, Contract> =>
  new Map(
    connections.flatMap(({ settings: { name, contract } }) => (contract === undefined ? [] : [[name, contract]])),
  );
