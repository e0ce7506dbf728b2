import path from 'node:path';
import type pg from 'pg';
import type { Settings } from '../config.ts';
import { findRunningPostgres, startEmbeddedPostgres } from '../postgres/embedded.ts';

export interface OpenedPostgres {
  readonly connection: pg.ClientConfig;
  /** Does nothing to a server that is not ours. */
  stop(): Promise<void>;
}

/** The server at DATABASE_URL, or the embedded one in the data directory. */
export async function openPostgres(settings: Settings, say: (line: string) => void): Promise<OpenedPostgres> {
  if (settings.databaseUrl !== null) {
    return { connection: { connectionString: settings.databaseUrl }, stop: async () => {} };
  }
  const dataDirectory = path.join(settings.dataDirectory, 'postgres');
  const embedded = await startEmbeddedPostgres({ dataDirectory, log: say });
  return { connection: { connectionString: embedded.connectionString }, stop: () => embedded.stop() };
}

/** The same, also while the service runs on the embedded server. */
export async function joinPostgres(settings: Settings): Promise<OpenedPostgres> {
  if (settings.databaseUrl === null) {
    const running = await findRunningPostgres(path.join(settings.dataDirectory, 'postgres'));
    if (running !== null) return { connection: { connectionString: running }, stop: async () => {} };
  }
  return openPostgres(settings, () => {});
}
