import type { App } from '../app/start-app.ts';
import type { Log } from '../observability/log.ts';
import { agreedOptions, type OpenConnection, openConnections, type Production, readRails } from './production.ts';

/** Reads the rails file again while the service goes on. */
export interface RailsReload {
  /** Reads the file, and uses what it says if it has no fault. Logs what changed, or why nothing did. */
  reload(): void;
  /** Resolves when the reload in progress has ended; none begins any more. */
  close(): Promise<void>;
}

export interface RailsReloadDependencies {
  readonly production: Production;
  readonly app: Pick<App, 'replaceRails'>;
  /** The connections that the service started with. */
  readonly open: readonly OpenConnection[];
  readonly log: Pick<Log, 'info' | 'error'>;
}

export function createRailsReload({ production, app, open, log }: RailsReloadDependencies): RailsReload {
  const { settings, banks } = production;
  let used = open;
  let reloading = Promise.resolve();
  let isClosed = false;

  async function reload(): Promise<void> {
    if (isClosed) return;
    const rails = readRails(settings, banks);
    if ('faults' in rails) {
      log.error(
        { faults: rails.faults },
        'rails file refused: it or a file that it names is faulty; going on with the connections as they were',
      );
      return;
    }
    const next: OpenConnection[] = [];
    const isNew = (each: OpenConnection): boolean => !used.includes(each);
    try {
      // One by one: when one cannot be opened, those before it are closed.
      for (const connection of rails.connections) next.push(...openConnections([connection], used));
      await app.replaceRails(
        next.map(({ rail }) => rail),
        agreedOptions(rails),
      );
    } catch (error) {
      await Promise.all(next.filter(isNew).map(({ rail }) => rail.close()));
      throw error;
    }
    const opened = next.filter(isNew);
    const closed = used.filter((each) => !next.includes(each));
    used = next;
    log.info({ opened: namesOf(opened), closed: namesOf(closed) }, 'rails file reloaded; unchanged connections stay');
  }

  return {
    reload() {
      reloading = reloading
        .then(reload)
        .catch((error: unknown) =>
          log.error(
            { err: error },
            'reloading the rails file failed; going on with the connections as they were; send SIGHUP to try again',
          ),
        );
    },
    async close() {
      isClosed = true;
      await reloading;
    },
  };
}

const namesOf = (connections: readonly OpenConnection[]): string[] =>
  connections.map(({ connection }) => connection.settings.name);
