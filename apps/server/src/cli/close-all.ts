/** Calls all of them, the last first, whichever fails. @throws what the first failure was, when all have been called. */
export async function closeAll(closers: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
