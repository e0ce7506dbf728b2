import path from 'node:path';
import type pg from 'pg';
import type { Settings } from '../config.ts';
import { findRunningPostgres, hasDatabase, startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { StartError } from '../lib/start-error.ts';

export interface OpenedPostgres {
  readonly connection: pg.ClientConfig;
  /** Does nothing to a server that is not ours. */
  stop(): Promise<void>;
}

type Say = (line: string) => void;

/** The server at DATABASE_URL, or the embedded one in the data directory. `warn` is told of what should not happen. */
export async function openPostgres(settings: Settings, say: Say, warn: Say = say): Promise<OpenedPostgres> {
  if (settings.databaseUrl !== null) {
    return { connection: { connectionString: settings.databaseUrl }, stop: async () => {} };
  }
  const dataDirectory = path.join(settings.dataDirectory, 'postgres');
  const embedded = await startEmbeddedPostgres({ dataDirectory, log: say, warn });
  return { connection: { connectionString: embedded.connectionString }, stop: () => embedded.stop() };
}

/**
 * The same for a command beside the service, also while that runs on the embedded server. It never makes a database: what
 * was meant for the service's would be done to an empty one. `say` is told which it is.
 * @throws StartError when there is none
 */
export async function joinPostgres(settings: Settings, say: Say): Promise<OpenedPostgres> {
  if (settings.databaseUrl !== null) {
    say(`database: ${withoutSecrets(settings.databaseUrl)}`);
    return openPostgres(settings, () => {});
  }
  const dataDirectory = path.resolve(settings.dataDirectory, 'postgres');
  if (!(await hasDatabase(dataDirectory))) {
    throw new StartError(
      `DATABASE_URL is missing, and there is no database in ${dataDirectory} (TIBA_DATA_DIR): ` +
        'set the one that the service has. Only the service makes a new database.',
    );
  }
  say(`database: ${dataDirectory}`);
  const running = await findRunningPostgres(dataDirectory);
  if (running !== null) return { connection: { connectionString: running }, stop: async () => {} };
  return openPostgres(settings, () => {});
}

const TOLD_PARAMETERS: ReadonlySet<string> = new Set(['host', 'port', 'user', 'dbname']);

/** A password may stand among the parameters too. */
function withoutSecrets(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  url.search = new URLSearchParams([...url.searchParams].filter(([name]) => TOLD_PARAMETERS.has(name))).toString();
  return url.href;
}
