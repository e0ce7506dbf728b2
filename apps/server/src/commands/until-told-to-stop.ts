/**
 * Waits for Ctrl-C, SIGTERM or the end of the terminal, then stops everything and lets the process end with code 0.
 * A second signal while it stops ends it at once.
 */
export async function untilToldToStop(stop: (signal: string) => Promise<void>): Promise<void> {
  const { promise: told, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    // Ctrl-C reaches the whole process group, and npm passes it on once more: one press is several signals.
    if (stopping && performance.now() - firstMs > REPEATED_SIGNAL_MS) process.exit(1);
    if (!stopping) firstMs = performance.now();
    stopping = true;
    resolve(signal);
  };
  let firstMs = 0;
  for (const signal of SIGNALS) process.on(signal, onSignal);
  await stop(await told);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const REPEATED_SIGNAL_MS = 500;
