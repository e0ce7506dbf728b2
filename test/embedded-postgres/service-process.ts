// A process that starts an embedded PostgreSQL and nothing else, for tests that kill it. Argument: the data directory.
// Prints one line of JSON when the start has succeeded or failed; SIGTERM stops it.
import {
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from '../../apps/server/src/embedded-postgres/embedded-postgres.ts';

const [, , dataDirectory = ''] = process.argv;
try {
  const server = await startEmbeddedPostgres({ dataDirectory, durable: false });
  process.once('SIGTERM', () => void server.stop());
  console.log(JSON.stringify({ pid: server.pid, connectionString: server.connectionString }));
} catch (error) {
  if (!(error instanceof EmbeddedPostgresError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
