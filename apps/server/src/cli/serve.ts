import { startApp } from '../app/start-app.ts';
import { SettingsError, validateSettings } from '../config.ts';
import { createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import { createLog } from '../observability/log.ts';
import type { Connection } from '../rails/protocol.ts';
import { readRailsFile } from '../rails/rails-file.ts';
import type { BankLimits } from '../rails/resilience/settings.ts';
import { openPostgres } from './open-postgres.ts';
import { closeAll, listenForStopSignal } from './shutdown.ts';

const STDOUT = 1;

/** `npm run serve`: production. No demo data, no simulated bank, and no start while a required setting is missing. */
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
      (detail) => log.info({ detail }, 'embedded postgresql reported its progress'),
      (detail) => log.error({ detail }, 'embedded postgresql reported a problem'),
    );
    closers.push(postgres.stop);
    const app = await startApp({
      environment: 'production',
      settings: { ...settings, secretKey },
      connection: postgres.connection,
      banks,
      rails: rails.connections.map((connection) => connection.open()),
      inquiries: { routes: rails.routes, limitsByRail: limitsOf(rails.connections) },
      logging,
    });
    closers.push(app.close);
    log.info({ signal: await stopSignal.received }, 'stopping');
  } catch (error) {
    // Ctrl-C also reaches the programs that are being started: a start that fails because of it is not an error.
    if (!stopSignal.wasReceived()) throw error;
  } finally {
    await closeAll(closers).finally(stopSignal.release);
  }
}

/** The quotas agreed with each bank, by the name of the connection. */
const limitsOf = (connections: readonly Connection[]): ReadonlyMap<string, BankLimits> =>
  new Map(connections.flatMap(({ settings: { name, limits } }) => (limits === undefined ? [] : [[name, limits]])));
