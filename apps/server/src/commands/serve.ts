import { startApp } from '../app.ts';
import { readSettings, SettingsError } from '../config.ts';
import { createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import { createLog } from '../observability/log.ts';
import { readRailsFile } from '../rails/rails-file.ts';
import { createSnapRail } from '../rails/snap/snap-rail.ts';
import { openPostgres } from './open-postgres.ts';
import { untilToldToStop } from './until-told-to-stop.ts';

const STDOUT = 1;

/** The production form: no demo data, no simulated bank, and no start before every setting is there. */
export async function serve(): Promise<void> {
  const settings = readSettings('serve');
  const banks = createBankDirectory(bankEntries);
  const { secretKey, railsFile } = settings;
  if (secretKey === null || railsFile === null)
    throw new SettingsError(['TIBA_SECRET_KEY or TIBA_RAILS_FILE is missing']);
  const rails = readRailsFile(railsFile, banks);
  if ('faults' in rails) throw new SettingsError(rails.faults);

  const { log, close: closeLog } = createLog(STDOUT, settings.logLevel);
  const postgres = await openPostgres(settings, (line) => log.info(line));
  try {
    const app = await startApp({
      environment: 'production',
      settings: { ...settings, secretKey },
      connection: postgres.connection,
      banks,
      rails: rails.connections.map(createSnapRail),
      log,
    });
    await untilToldToStop(async (signal) => {
      log.info({ signal }, 'stopping');
      await app.close();
    });
  } finally {
    await postgres.stop();
    await closeLog();
  }
}
