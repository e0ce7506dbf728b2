/**
 * Waits for a promise for a limited time. Resolves or rejects as the promise does, or resolves to `otherwise` when the
 * time has passed first: the promise then goes on, and how it ends is ignored.
 *
 * The timer keeps the process alive until then. What waits may be all that is left of a process that starts or stops:
 * without the timer Node would end it there, with exit code 13.
 */
export async function within<T, Otherwise>(
  promise: Promise<T>,
  timeoutMs: number,
  otherwise: Otherwise,
): Promise<T | Otherwise> {
  const late = Promise.withResolvers<Otherwise>();
  const timer = setTimeout(late.resolve, timeoutMs, otherwise);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
