import { StartError } from '../lib/start-error.ts';
import { createLog, type Log } from '../observability/log.ts';
import { openDatabase } from '../postgres/database.ts';
import { asStartError, prepareDatabase } from '../postgres/prepare-database.ts';
import type { PostgresConnection } from '../postgres/primary-client.ts';
import { PARENT_PROCESS } from '../workers/metrics-collection.ts';
import { type Supervisor, startSupervisor } from '../workers/supervisor.ts';
import { environmentOf } from './open-postgres.ts';
import { openProductionPostgres, type Production, readProduction, warnOfUnknownVariables } from './production.ts';
import { closeService, listenForStopSignal } from './shutdown.ts';

const STDOUT = 1;

/** A worker waits for load balancers, then for requests (10 s) and callbacks (20 s) in flight, then closes the rest. */
const STOP_TIMEOUT_MS = 30_000;

/**
 * The parent of several processes. It answers no request: it opens PostgreSQL, migrates once, and starts the workers,
 * replaces those that end, and stops them. SIGHUP restarts them one after the other.
 */
export async function serveAsParent(production: Production): Promise<void> {
  const { settings } = production;
  const logging = createLog(STDOUT, settings.logLevel, PARENT_PROCESS);
  const { log } = logging;
  warnOfUnknownVariables(log);
  const closers: (() => Promise<unknown>)[] = [];
  const stopSignal = listenForStopSignal(['SIGINT', 'SIGTERM']);
  // Before the workers are started, there is nothing to restart.
  let restart = (): void => {};
  const onHangUp = (): void => restart();
  process.on('SIGHUP', onHangUp);
  try {
    const { connection, stop } = await openProductionPostgres(settings, log);
    closers.push(stop);
    await prepare(production, connection, log);
    const supervisor = await startSupervisor({
      count: settings.processes,
      embeddedPostgres: settings.databaseUrl === null ? (connection.connectionString ?? null) : null,
      stopTimeoutMs: settings.stopDelaySeconds * 1_000 + STOP_TIMEOUT_MS,
      logging,
      stopping: stopSignal.received,
    });
    closers.push(supervisor.stop);
    restart = () => void restartWorkers(supervisor, log);
    log.info({ processes: settings.processes }, 'all processes are ready');
    log.info({ signal: await Promise.race([stopSignal.received, supervisor.failed]) }, 'stopping all processes');
  } catch (error) {
    if (!stopSignal.wasReceived()) throw asStartError(error);
  } finally {
    process.off('SIGHUP', onHangUp);
    await closeService(closers, logging, stopSignal.wasReceived()).finally(stopSignal.release);
  }
}

/** Migrates the schema, if this is to be done at the start, or checks that it is there. */
async function prepare({ settings }: Production, connection: PostgresConnection, log: Log): Promise<void> {
  const database = openDatabase({ connection, connectionsMax: 1, log });
  try {
    await prepareDatabase(database, {
      environment: environmentOf(settings),
      migrate: settings.databaseUrl === null || settings.migrate,
      onBlocked: () => log.warn('other transactions hold tables that are to be migrated; will retry'),
    });
  } finally {
    await database.close();
  }
}

/** The new workers read the files that settings name again. A faulty one must not take a worker away. */
async function restartWorkers(supervisor: Supervisor, log: Log): Promise<void> {
  try {
    readProduction();
    log.info('restarting all processes, one after the other');
    if (await supervisor.restart()) log.info('all processes are restarted');
  } catch (error) {
    if (error instanceof StartError)
      log.error(
        { faults: error.message },
        'restart refused: the settings or the files that they name are faulty; nothing changed',
      );
    else log.error({ err: error }, 'restart failed; the processes that it has not replaced stay');
  }
}
