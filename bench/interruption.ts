import { constants } from 'node:os';

/** A signal interrupted the run. This is not a failure. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }

  /** The exit code that a shell reports for a process that the signal ended. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const REPEATED_SIGNAL_MS = 500;

/**
 * Aborts at the first signal, so that the run can stop what it started. A later signal ends this process at once.
 * Ctrl-C counts once, although it arrives twice: npm forwards it.
 */
export function onInterruption(closers: AsyncDisposableStack): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  const interrupt = (signal: NodeJS.Signals): void => {
    if (!controller.signal.aborted) {
      firstMs = performance.now();
      controller.abort(new Interrupted(signal));
    } else if (performance.now() - firstMs > REPEATED_SIGNAL_MS) {
      process.exit(new Interrupted(signal).exitCode);
    }
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  // Added first and so closed last: until then, a signal must not end the process in the middle of its cleanup.
  closers.defer(() => {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  });
  return controller.signal;
}
