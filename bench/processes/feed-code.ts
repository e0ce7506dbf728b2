// Feeds lines with the code of one clone, and counts the CPU time that they cost this process and PostgreSQL. A process
// of its own, as a service is: two codes in one would share V8's memory and what it has learned of the types.

import { createServer } from 'node:http';
import { createLog } from '../../apps/server/src/observability/log.ts';
import { listenOnLoopback, runAsChild } from '../as-child.ts';
import { addClients } from '../bytes/fill.ts';
import { loadCode } from '../feed/code.ts';
import { cpuMicroseconds } from '../process-stats.ts';

export interface FeedCodeSettings {
  /** The folder of the clone. */
  readonly root: string;
  /** An empty database. */
  readonly connectionString: string;
  readonly logFile: string;
}

export interface FeedCodeAddress {
  /** POST NDJSON here: status updates that each insert or advance a transaction. The response is a `FeedCost`. */
  readonly url: string;
}

/** Microseconds of CPU for each line. */
export interface FeedCost {
  readonly server: number;
  readonly database: number;
}

await runAsChild<FeedCodeAddress>(async (sent) => {
  const { root, connectionString, logFile } = sent as FeedCodeSettings;
  const { log, close: closeLog } = createLog(logFile);
  const code = await loadCode(root, { log });
  await code.migrate(connectionString);
  const database = code.openDatabase(connectionString);
  await addClients(database);
  const feed = code.createFeed(database);

  /** The lines are here before the time counts: what HTTP costs is the same for each code. */
  async function feedLines(chunks: readonly Buffer[]): Promise<FeedCost> {
    const run = feed.open('core');
    // The pool closes a connection that is idle for long.
    const [backend] = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
    const backendPid = backend?.pid ?? Number.NaN;
    const databaseBefore = await cpuMicroseconds(backendPid);
    const serverBefore = process.cpuUsage();
    await run.readNdjson(
      (async function* () {
        yield* chunks;
      })(),
    );
    const server = process.cpuUsage(serverBefore);
    const databaseUsed = (await cpuMicroseconds(backendPid)) - databaseBefore;
    const { inserted, advanced, unchanged, conflicts, rejected } = run.report;
    const lines = inserted + advanced;
    if (lines === 0 || unchanged + conflicts.length + rejected.length > 0)
      throw new Error(`a feed was not stored: ${JSON.stringify(run.report)}`);
    return { server: (server.user + server.system) / lines, database: databaseUsed / lines };
  }

  const server = createServer((request, response) => {
    request
      .toArray()
      .then((chunks) => feedLines(chunks as Buffer[]))
      .then(
        (cost) => response.end(JSON.stringify(cost)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  const { url, close } = await listenOnLoopback(server);
  return {
    address: { url },
    async close() {
      close();
      await database.close();
      await closeLog();
    },
  };
});
