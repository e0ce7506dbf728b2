/**
 * Runs `action` again and again, `intervalMs` after its last run has ended, so that runs never overlap. What an action
 * throws goes to `onError`, and it is tried again. Resolves when the run under way has ended after `stop`.
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
