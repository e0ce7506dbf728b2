/**
 * Rejects when there is no reply in time. A process that was busy for longer than that first reads the replies that
 * came meanwhile: `setImmediate` runs after the sockets were read.
 */
export function inTime<T>(reply: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error(`no reply within ${timeoutMs} ms`)));
    }, timeoutMs);
    reply.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
