import type { AgreedOptions } from '../app/account-inquiries.ts';
import { type App, startApp } from '../app/start-app.ts';
import { findTlsFaults } from '../app/tls.ts';
import { type Settings, SettingsError, unknownVariables, validateSettings } from '../config/config.ts';
import { type BankDirectory, createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import type { Log, LogSink } from '../observability/log.ts';
import type { PostgresConnection } from '../postgres/primary-client.ts';
import type { Connection } from '../rails/protocol.ts';
import type { Rail } from '../rails/rail.ts';
import { type RailsFileResult, readRailsFile } from '../rails/rails-file.ts';
import type { ParentLink } from '../workers/parent-link.ts';
import { environmentOf, type OpenedPostgres, openPostgres } from './open-postgres.ts';

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
  const { secretKey } = settings;
  const rails = readRails(settings, banks);
  if (faults.length > 0 || 'faults' in rails || secretKey === null) {
    throw new SettingsError('faults' in rails ? [...faults, ...rails.faults] : faults);
  }
  return { settings: { ...settings, secretKey }, banks, rails };
}

/** A misspelled setting is no fault: the variable may be another program's. */
export function warnOfUnknownVariables(log: Log): void {
  const variables = unknownVariables();
  if (variables.length > 0) log.warn({ variables }, 'variables that are no settings are ignored');
}

/** Reads the rails file, and the files that it names. */
export const readRails = ({ railsFile, staging }: Settings, banks: BankDirectory): RailsFileResult =>
  railsFile === null ? { faults: [] } : readRailsFile(railsFile, banks, { staging });

export const openProductionPostgres = (settings: Settings, log: Log): Promise<OpenedPostgres> =>
  openPostgres(
    settings,
    (detail) => log.info({ detail }, 'embedded postgresql reported its progress'),
    (detail) => log.error({ detail }, 'embedded postgresql reported a problem'),
  );

/** A connection to a bank, and its rail. */
export interface OpenConnection {
  readonly connection: Connection;
  readonly rail: Rail;
}

export interface ProductionStart {
  readonly logging: LogSink;
  readonly connection: PostgresConnection;
  readonly open: readonly OpenConnection[];
  /** Of a worker; absent for the only process. */
  readonly parent?: ParentLink;
}

/** Opens the connections of the rails file. One that is open already, and has not changed, stays. */
export const openConnections = (
  connections: readonly Connection[],
  open: readonly OpenConnection[] = [],
): readonly OpenConnection[] =>
  connections.map(
    (connection) =>
      open.find((each) => each.connection.fingerprint === connection.fingerprint) ?? {
        connection,
        rail: connection.open(),
      },
  );

export const startProduction = (
  { settings, banks, rails }: Production,
  { logging, connection, open, parent }: ProductionStart,
): Promise<App> =>
  startApp({
    environment: environmentOf(settings),
    settings,
    connection,
    banks,
    rails: open.map(({ rail }) => rail),
    inquiries: agreedOptions(rails),
    logging,
    ...(parent === undefined ? {} : { parent }),
  });

/** The routes, and the quotas agreed with each bank, by the name of the connection. */
export const agreedOptions = ({ connections, routes }: Production['rails']): AgreedOptions => ({
  routes,
  limitsByRail: new Map(
    connections.flatMap(({ settings: { name, limits } }) => (limits === undefined ? [] : [[name, limits]])),
  ),
});
