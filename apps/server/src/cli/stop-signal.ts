export interface StopSignal {
  /** Resolves with the first signal. */
  readonly told: Promise<NodeJS.Signals>;
  isTold(): boolean;
  /** From here on signals end the process as they always do: call it when nothing is left to be stopped. */
  release(): void;
}

/**
 * Listens for Ctrl-C, SIGTERM and the end of the terminal. Call it before anything is started: unheard, a signal would
 * end this process and leave PostgreSQL behind. A second signal ends the process at once, and PostgreSQL with it.
 */
export function listenForStopSignal(): StopSignal {
  const { promise: told, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    firstMs ??= performance.now();
    // Ctrl-C reaches the whole process group, and npm passes it on once more: one press is several signals.
    if (performance.now() - firstMs > REPEATED_SIGNAL_MS) process.exit(1);
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    told,
    isTold: () => firstMs !== undefined,
    release() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const REPEATED_SIGNAL_MS = 500;
