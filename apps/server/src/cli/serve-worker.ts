import { createLog } from '../observability/log.ts';
import type { EndOrder } from '../workers/messages.ts';
import { connectToParent } from '../workers/parent-link.ts';
import { openConnections, openProductionPostgres, type Production, startProduction } from './production.ts';
import { closeService, listenForStopSignal } from './shutdown.ts';

const STDOUT = 1;

/** One of several processes: the same service as the only one, which its parent starts and ends. */
export async function serveAsWorker(production: Production): Promise<void> {
  // Ctrl-C and the end of a terminal reach the whole process group: the parent decides what they mean.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const stopSignal = listenForStopSignal(['SIGTERM']);
  const parent = await connectToParent();
  const logging = createLog(STDOUT, production.settings.logLevel, parent.process);
  const { log } = logging;
  const closers: (() => Promise<unknown>)[] = [];
  let order: EndOrder | null = null;
  try {
    const connection =
      parent.embeddedPostgres === null
        ? (await openProductionPostgres(production.settings, log)).connection
        : { connectionString: parent.embeddedPostgres };
    const open = openConnections(production.rails.connections);
    const app = await startProduction(production, { logging, connection, open, parent });
    closers.push(() => app.close(order ?? 'stop'));
    parent.ready();
    order = await Promise.race([parent.ended, stopSignal.received.then((): EndOrder => 'stop')]);
    log.info({ order }, 'stopping');
  } finally {
    await closeService(closers, logging, order !== null).finally(() => {
      parent.close();
      stopSignal.release();
    });
  }
}
