import cluster from 'node:cluster';
import { createLog } from '../observability/log.ts';
import {
  openConnections,
  openProductionPostgres,
  type Production,
  readProduction,
  startProduction,
  warnOfUnknownVariables,
} from './production.ts';
import { createRailsReload } from './reload-rails.ts';
import { serveAsParent } from './serve-parent.ts';
import { serveAsWorker } from './serve-worker.ts';
import { closeService, listenForStopSignal } from './shutdown.ts';

const STDOUT = 1;

/**
 * `npm run serve`: production. No demo data, no simulated bank, and no start while a required setting is missing. With
 * TIBA_PROCESSES, a parent and its workers, which run this command too.
 */
export async function serve(): Promise<void> {
  const production = readProduction();
  if (cluster.isWorker) await serveAsWorker(production);
  else if (production.settings.processes > 1) await serveAsParent(production);
  else await serveAlone(production);
}

/**
 * SIGHUP reloads the rails file. In a terminal, SIGHUP means that the terminal was closed: the service then stops as it
 * does on Ctrl-C.
 */
async function serveAlone(production: Production): Promise<void> {
  const logging = createLog(STDOUT, production.settings.logLevel);
  const { log } = logging;
  warnOfUnknownVariables(log);
  const closers: (() => Promise<unknown>)[] = [];
  const stopSignal = listenForStopSignal(process.stdin.isTTY ? undefined : ['SIGINT', 'SIGTERM']);
  // While the service starts, it has just read the file.
  let reload = (): void => {};
  const onHangUp = (): void => reload();
  if (!process.stdin.isTTY) process.on('SIGHUP', onHangUp);
  try {
    const postgres = await openProductionPostgres(production.settings, log);
    closers.push(postgres.stop);
    const open = openConnections(production.rails.connections);
    const app = await startProduction(production, { logging, connection: postgres.connection, open });
    closers.push(() => app.close());
    const reloading = createRailsReload({ production, app, open, log });
    closers.push(reloading.close);
    reload = reloading.reload;
    log.info({ signal: await stopSignal.received }, 'stopping');
  } catch (error) {
    // Ctrl-C also reaches the programs that are being started: a start that fails because of it is not an error.
    if (!stopSignal.wasReceived()) throw error;
  } finally {
    await closeService(closers, logging, stopSignal.wasReceived()).finally(stopSignal.release);
    process.off('SIGHUP', onHangUp);
  }
}
