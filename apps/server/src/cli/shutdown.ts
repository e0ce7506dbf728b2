import type { LogSink } from '../observability/log.ts';

export interface StopSignal {
  /** Resolves with the first signal. */
  readonly received: Promise<NodeJS.Signals>;
  wasReceived(): boolean;
  /** From here on a signal ends the process as by default: call it when everything has been stopped. */
  release(): void;
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const REPEATED_SIGNAL_MS = 500;

/**
 * Listens for Ctrl-C, SIGTERM and the end of the terminal. Call it before anything is started: without a listener a
 * signal would end this process and leave PostgreSQL behind. A second signal ends the process at once, and PostgreSQL
 * with it.
 */
export function listenForStopSignal(signals = SIGNALS): StopSignal {
  const { promise: received, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    firstMs ??= performance.now();
    // Ctrl-C reaches the whole process group, and npm forwards it once more: one press is several signals.
    if (performance.now() - firstMs > REPEATED_SIGNAL_MS) process.exit(1);
    resolve(signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    received,
    wasReceived: () => firstMs !== undefined,
    release() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}

/**
 * Calls all closers, the last one first, even when one of them fails.
 * @throws the first failure, after all have been called
 */
export async function closeAll(closers: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/**
 * Calls all closers, and closes the log at the end. `wasStopped`, and not a start that failed: the last line says that
 * everything is closed.
 * @throws as `closeAll`, without that line
 */
export async function closeService(
  closers: readonly (() => Promise<unknown>)[],
  { log, close }: LogSink,
  wasStopped: boolean,
): Promise<void> {
  try {
    await closeAll(closers);
    if (wasStopped) log.info('stopped');
  } finally {
    await close();
  }
}
