/**
 * Runs `action` repeatedly, `intervalMs` after its last run has ended, so that runs never overlap. Errors go to
 * `onError`, and the next run follows as usual. `stop` resolves when the current run has ended.
 */
export function repeat(
  intervalMs: number,
  action: () => Promise<unknown>,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  function schedule(): void {
    if (stopped) return;
    timer = setTimeout(() => {
      running = action().then(() => {}, onError);
      void running.then(schedule);
    }, intervalMs);
    timer.unref();
  }

  schedule();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
