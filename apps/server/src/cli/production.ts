import { type App, startApp } from '../app/start-app.ts';
import { findTlsFaults } from '../app/tls.ts';
import { type Settings, SettingsError, validateSettings } from '../config.ts';
import { type BankDirectory, createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import type { Log, LogSink } from '../observability/log.ts';
import type { InstallationEnvironment } from '../postgres/prepare-database.ts';
import type { PostgresConnection } from '../postgres/primary-client.ts';
import type { Connection } from '../rails/protocol.ts';
import { type RailsFileResult, readRailsFile } from '../rails/rails-file.ts';
import type { BankLimits } from '../rails/resilience/settings.ts';
import type { ParentLink } from '../workers/parent-link.ts';
import { type OpenedPostgres, openPostgres } from './open-postgres.ts';

/** What production needs to start: the settings and the connections to banks, without faults. */
export interface Production {
  readonly settings: Settings & { readonly secretKey: Buffer };
  readonly banks: BankDirectory;
  readonly rails: Exclude<RailsFileResult, { readonly faults: string[] }>;
}

/** @throws SettingsError with the faults of the settings, of the rails file, and of the files that they name */
export function readProduction(): Production {
  const { settings, faults: ofSettings } = validateSettings('serve');
  const faults = [...ofSettings, ...findTlsFaults(settings)];
  const banks = createBankDirectory(bankEntries);
  const { secretKey, railsFile } = settings;
  const rails = railsFile === null ? { faults: [] } : readRailsFile(railsFile, banks, { staging: settings.staging });
  if (faults.length > 0 || 'faults' in rails || secretKey === null) {
    throw new SettingsError('faults' in rails ? [...faults, ...rails.faults] : faults);
  }
  return { settings: { ...settings, secretKey }, banks, rails };
}

/** Which installation a database is marked with. */
export const environmentOf = ({ staging }: Pick<Settings, 'staging'>): InstallationEnvironment =>
  staging ? 'staging' : 'production';

export const openProductionPostgres = (settings: Settings, log: Log): Promise<OpenedPostgres> =>
  openPostgres(
    settings,
    (detail) => log.info({ detail }, 'embedded postgresql reported its progress'),
    (detail) => log.error({ detail }, 'embedded postgresql reported a problem'),
  );

/** `parent`: of a worker; absent for the only process. */
export const startProduction = (
  { settings, banks, rails }: Production,
  logging: LogSink,
  connection: PostgresConnection,
  parent?: ParentLink,
): Promise<App> =>
  startApp({
    environment: environmentOf(settings),
    settings,
    connection,
    banks,
    rails: rails.connections.map((each) => each.open()),
    inquiries: { routes: rails.routes, limitsByRail: limitsOf(rails.connections) },
    logging,
    ...(parent === undefined ? {} : { parent }),
  });

/** The quotas agreed with each bank, by the name of the connection. */
const limitsOf = (connections: readonly Connection[]): ReadonlyMap<string, BankLimits> =>
  new Map(connections.flatMap(({ settings: { name, limits } }) => (limits === undefined ? [] : [[name, limits]])));
