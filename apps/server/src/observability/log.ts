import pino from 'pino';

export type Log = pino.Logger;

/**
 * Structured log lines. `destination` is a file descriptor's number or a file's path.
 *
 * Lines are gathered and written every `FLUSH_INTERVAL_MS`, because a write for each line would cost the hot path more
 * than everything else that it does. A killed process loses at most that much of its log.
 */
export function createLog(destination: number | string, level: pino.LevelWithSilent = 'info'): LogSink {
  const stream = pino.destination({ dest: destination, sync: false, minLength: 8 * 1024, mkdir: true });
  const log = pino(
    { base: null, level, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    stream,
  );
  const timer = setInterval(() => stream.flush(), FLUSH_INTERVAL_MS).unref();
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      clearInterval(timer);
      stream.flush(() => resolve());
    });
  return { log, close };
}

export interface LogSink {
  readonly log: Log;
  /** Writes what is still gathered. */
  close(): Promise<void>;
}

const FLUSH_INTERVAL_MS = 200;

/**
 * What a log line may say of an error. PostgreSQL's `detail` and `where` quote the row they stumble on, names and
 * account numbers with it, so only the known harmless members are taken.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? { code: error.code } : {};
  return { type: name, message, ...code, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}
