import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { Server } from 'node:net';

export interface StartedProgram<Address> {
  readonly address: Address;
  close(): Promise<void>;
}

const REPORT_AFTER_MS = 30_000;

/**
 * Runs a program as a child of the benchmark: receives its settings, starts, sends its address, and ends when the
 * parent disconnects.
 */
export async function runAsChild<Address>(
  start: (settings: unknown) => Promise<StartedProgram<Address>>,
): Promise<void> {
  const disconnected = Promise.withResolvers<void>();
  process.once('disconnect', disconnected.resolve);
  const [settings] = await once(process, 'message');
  const { address, close } = await start(settings);
  // Stores compiled modules now, for the children that start next. Otherwise each child writes all of them when it
  // ends, over the files of the others, which takes seconds on a slow disk.
  flushCompileCache();
  // If the parent disconnects at this moment, sending fails; the disconnection ends this process anyway.
  if (process.connected) process.send?.(address, undefined, undefined, () => {});
  else disconnected.resolve();
  await disconnected.promise;
  reportWhenOpen('does not close');
  await close();
  reportWhenOpen('has closed, and does not end');
}

/** Its parent kills a child that does not end. What keeps it is seen only here. */
function reportWhenOpen(what: string): void {
  const report = (): void => {
    process.stderr.write(`${process.argv[1]} ${what}; open: ${process.getActiveResourcesInfo().join(', ')}\n`);
  };
  setTimeout(report, REPORT_AFTER_MS).unref();
}

/** Starts an HTTP server of the benchmark on a free port of this machine. */
export async function listenOnLoopback(server: HttpServer): Promise<{ readonly url: string; close(): void }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: addressOf(server),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The URL of a server that listens on TCP, such as `http://127.0.0.1:40123`. */
export function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
  return `http://127.0.0.1:${address.port}`;
}
