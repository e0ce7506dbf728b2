/**
 * Prevents concurrent runs: of two concurrent runs the older one could end last and overwrite the newer result. Calls
 * during a run share the next run, which starts after they were made.
 */
export function singleFlight(run: () => Promise<void>): () => Promise<void> {
  let running = Promise.resolve();
  let next: Promise<void> | undefined;
  return () =>
    (next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        running = run();
        return running;
      }));
}
