import path from 'node:path';
import type pg from 'pg';
import type { Settings } from '../config.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded.ts';

export interface OpenedPostgres {
  readonly connection: pg.ClientConfig;
  /** Null for a server that is not ours to stop. */
  readonly embedded: EmbeddedPostgres | null;
  stop(): Promise<void>;
}

/** The server at DATABASE_URL, or the embedded one in the data directory. */
export async function openPostgres(settings: Settings, say: (line: string) => void): Promise<OpenedPostgres> {
  if (settings.databaseUrl !== null) {
    return { connection: { connectionString: settings.databaseUrl }, embedded: null, stop: async () => {} };
  }
  const dataDirectory = path.join(settings.dataDirectory, 'postgres');
  const embedded = await startEmbeddedPostgres({ dataDirectory, log: say });
  return { connection: { connectionString: embedded.connectionString }, embedded, stop: () => embedded.stop() };
}
