import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { processExists } from '../lib/process-exists.ts';
import { codeOf, EmbeddedPostgresError } from './error.ts';
import { inUse } from './lock.ts';
import { findPostmaster, isServerOf, type Postmaster, sendSignal, stopPostmaster } from './postmaster.ts';
import { clientConfig, removeLeftoverSocketDirectories } from './socket.ts';

const pollMs = 10;

// A server notices within this time that the connection of a killed client is closed, unless a query keeps it busy.
const clientsGoneTimeoutMs = 1_000;

/**
 * Stops the server that a killed Tiba left running. The caller holds the lock, so no Tiba service is alive on this data
 * directory. Another program of Tiba's, such as a long administrative command, may be: then this throws and leaves the
 * server running.
 *
 * `socket` is the directory in which the caller's own server will have its socket. Returns the process id in
 * `postmaster.pid` if an unrelated process has it now.
 * @throws EmbeddedPostgresError IN_USE
 */
export async function stopLeftoverServer(
  dataDirectory: string,
  socket: string,
  log: (line: string) => void,
): Promise<number | null> {
  const postmaster = await findPostmaster(dataDirectory);
  const isRunning = postmaster !== null && (await isServerOf(dataDirectory, postmaster.pid));
  if (isRunning) {
    await requireUnused(dataDirectory, postmaster);
    log(`stopping PostgreSQL (process ${postmaster.pid}), which a killed Tiba left running`);
    await stopServer(dataDirectory, postmaster.pid);
  }
  await removeLeftoverSocketDirectories(dataDirectory, postmaster?.socketDirectory ?? null, socket);
  return postmaster !== null && !isRunning && processExists(postmaster.pid) ? postmaster.pid : null;
}

/**
 * Ends the processes of a server whose postmaster was killed: a process that executes a query does not notice it, and
 * the next server rightly does not start while it runs. SIGQUIT is the signal that the postmaster would send. The
 * processes are found in proc(5); on a system without it, waiting has to be enough.
 */
export async function killOrphans(dataDirectory: string): Promise<void> {
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name);
    if (pid > 1 && (await isServerOf(dataDirectory, pid))) sendSignal('SIGQUIT', pid);
  }
}

async function stopServer(dataDirectory: string, pid: number): Promise<void> {
  // It is not a child of this process, so no event reports its exit.
  const hasEnded = async (waitMs: number): Promise<boolean> => {
    const deadline = performance.now() + waitMs;
    while (await isServerOf(dataDirectory, pid)) {
      if (performance.now() >= deadline) return false;
      await delay(pollMs);
    }
    return true;
  };
  const stopped = await stopPostmaster(pid, hasEnded).catch((cause: unknown) => {
    throw cannotStop(dataDirectory, pid, cause);
  });
  if (!stopped) throw cannotStop(dataDirectory, pid);
}

function cannotStop(dataDirectory: string, pid: number, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'IN_USE',
    `An earlier Tiba left PostgreSQL (process ${pid}) running on ${dataDirectory}, and this one cannot stop it. ` +
      'Stop that process, or choose another TIBA_DATA_DIR.',
    { cause },
  );
}

/** @throws EmbeddedPostgresError IN_USE if a client with an application name `tiba…` stays connected */
async function requireUnused(dataDirectory: string, { socketDirectory, pid }: Postmaster): Promise<void> {
  if (socketDirectory === null) return;
  const client = new Client({ ...clientConfig(socketDirectory, 'postgres'), query_timeout: 2_000 });
  // Without a listener, losing the idle connection would end this process.
  client.on('error', () => {});
  try {
    await client.connect();
    const deadline = performance.now() + clientsGoneTimeoutMs;
    for (;;) {
      const { rows } = await client.query<{ name: string }>(FIND_CLIENTS);
      if (rows.length === 0) return;
      if (performance.now() >= deadline) {
        throw inUse(
          dataDirectory,
          ` ("${rows.map(({ name }) => name).join('", "')}" on the PostgreSQL of process ${pid})`,
        );
      }
      await delay(pollMs * 5);
    }
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error;
    // All connections are in use (53300), so it has clients. A closed socket directory may be another user's Tiba.
    if (codeOf(error) === '53300') throw inUse(dataDirectory);
    if (codeOf(error) === 'EACCES') throw cannotStop(dataDirectory, pid, error);
    // Starting, recovering, stopping, stuck or without its socket: no client can use a server in such a state.
  } finally {
    await client.end().catch(() => {});
  }
}

const FIND_CLIENTS = `
  SELECT DISTINCT application_name AS name
  FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND application_name LIKE 'tiba%' AND pid <> pg_backend_pid()
  ORDER BY 1`;
