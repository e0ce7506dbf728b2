import { Client } from 'pg';
import { port } from './socket-directory.ts';

/** For `pg`, complete, so that no PGPORT, PGSSLMODE or PGPASSWORD of the environment takes part. */
export function clientSettings(socketDirectory: string, database: string) {
  return {
    host: socketDirectory,
    port,
    user: 'tiba',
    password: '',
    database,
    ssl: false,
    application_name: 'tiba-start',
    connectionTimeoutMillis: 5_000,
  };
}

/** For DATABASE_URL's place: `pg` and every program that uses libpq understand it. */
export function connectionStringOf(socketDirectory: string): string {
  return `postgresql://tiba@/tiba?host=${encodeURIComponent(socketDirectory)}&port=${port}&sslmode=disable`;
}

/** Asked at every start, not only after initdb: the first start may have been killed before it got here. */
export async function ensureDatabase(socketDirectory: string): Promise<void> {
  const client = new Client(clientSettings(socketDirectory, 'postgres'));
  // Without a listener, the end of the connection while nothing is asked would end this process.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = 'tiba'");
    if (rowCount === 0) await client.query('CREATE DATABASE tiba');
  } finally {
    await client.end().catch(() => {});
  }
}
