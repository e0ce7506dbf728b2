import path from 'node:path';
import type { Settings } from '../config/config.ts';
import { findRunningPostgres, hasDatabase, startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { StartError } from '../lib/start-error.ts';
import { describeDatabaseUrl } from '../postgres/database-url.ts';
import type { InstallationEnvironment } from '../postgres/prepare-database.ts';
import { connectionTo, type PostgresConnection } from '../postgres/primary-client.ts';

export interface OpenedPostgres {
  readonly connection: PostgresConnection;
  /** Stops the embedded server. Does nothing to a server at DATABASE_URL. */
  stop(): Promise<void>;
}

type Print = (line: string) => void;

/** Which installation a production's database is marked with. */
export const environmentOf = ({ staging }: Pick<Settings, 'staging'>): InstallationEnvironment =>
  staging ? 'staging' : 'production';

/** A person waits, and no request: a server that is busy gets more time than the service gives it. */
const COMMAND_CONNECTION_TIMEOUT_MS = 10_000;

/**
 * The server at DATABASE_URL, or the embedded one in the data directory. `print` gets the progress of the embedded
 * server; `warn` gets what should not happen.
 */
export async function openPostgres(settings: Settings, print: Print, warn: Print = print): Promise<OpenedPostgres> {
  if (settings.databaseUrl !== null) {
    return { connection: connectionTo(settings.databaseUrl), stop: async () => {} };
  }
  const dataDirectory = path.join(settings.dataDirectory, 'postgres');
  const embedded = await startEmbeddedPostgres({ dataDirectory, log: print, warn });
  return { connection: { connectionString: embedded.connectionString }, stop: () => embedded.stop() };
}

/**
 * The same for a command that runs next to the service, even while the service uses the embedded server. It never
 * creates a database: otherwise a command meant for the service's database would change an empty new one. `print` gets
 * a line that names the database.
 * @throws StartError when there is no database
 */
export async function connectToPostgres(settings: Settings, print: Print): Promise<OpenedPostgres> {
  const { connection, stop } = await findPostgres(settings, print);
  return { connection: { ...connection, connectionTimeoutMillis: COMMAND_CONNECTION_TIMEOUT_MS }, stop };
}

async function findPostgres(settings: Settings, print: Print): Promise<OpenedPostgres> {
  if (settings.databaseUrl !== null) {
    print(`database: ${describeDatabaseUrl(settings.databaseUrl)}`);
    return openPostgres(settings, () => {});
  }
  const dataDirectory = path.resolve(settings.dataDirectory, 'postgres');
  if (!(await hasDatabase(dataDirectory))) {
    throw new StartError(
      `DATABASE_URL is missing, and there is no database in ${dataDirectory} (TIBA_DATA_DIR): ` +
        'set the one that the service uses. Only the service creates a new database.',
    );
  }
  print(`database: ${dataDirectory}`);
  const running = await findRunningPostgres(dataDirectory);
  if (running !== null) return { connection: { connectionString: running }, stop: async () => {} };
  return openPostgres(settings, () => {});
}
