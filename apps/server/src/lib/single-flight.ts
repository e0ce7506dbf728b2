/**
 * One run at a time, because of two at once the older could end last and win. Whoever asks meanwhile shares the next
 * run, which begins after the asking.
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
