/** Is told how each run has ended. */
export interface RunReport {
  failed(error: unknown): void;
  succeeded(): void;
}

export interface Repetition {
  /** Runs the action at once; if it is running, once more when it has ended. */
  now(): void;
  /** Resolves when the current run has ended. No other follows. */
  stop(): Promise<void>;
}

/**
 * Runs `action` repeatedly, `intervalMs` after its last run has ended, so that runs never overlap. `report` is told of
 * each run, and after one that has failed the next one follows as usual.
 */
export function repeat(intervalMs: number, action: () => Promise<unknown>, report: RunReport): Repetition {
  let stopped = false;
  let isRunning = false;
  let isWanted = false;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  function run(): void {
    isRunning = true;
    isWanted = false;
    running = action().then(report.succeeded, report.failed);
    void running.then(onEnded);
  }

  function onEnded(): void {
    isRunning = false;
    if (stopped) return;
    if (isWanted) run();
    else schedule();
  }

  function schedule(): void {
    timer = setTimeout(run, intervalMs);
    timer.unref();
  }

  schedule();
  return {
    now() {
      isWanted = true;
      if (stopped || isRunning) return;
      clearTimeout(timer);
      run();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
