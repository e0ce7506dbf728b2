import pino from 'pino';

export type Log = pino.Logger;

/** The destination of log lines. */
export interface LogSink {
  readonly log: Log;
  /** Writes a finished line, including its line end: access lines are too many for the general logger. */
  readonly writeLine: (line: string) => void;
  /** Writes the lines that are still buffered. */
  close(): Promise<void>;
}

/** Lines are buffered and written together, so that a request does not cost a write. */
const BUFFERED_LINES_MAX = 256;
/** A killed process loses at most this much of its log. */
const FLUSH_INTERVAL_MS = 200;

/**
 * Writes structured log lines (JSON) to `destination`: the number of a file descriptor, or the path of a file. The file
 * is created with mode 0600, so that only its owner can read it.
 */
export function createLog(destination: number | string, level: pino.LevelWithSilent = 'info'): LogSink {
  const stream = pino.destination({ dest: destination, sync: false, mkdir: true, mode: 0o600 });
  const log = pino(
    { base: null, level, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    stream,
  );
  const wantsAccessLines = log.isLevelEnabled('info');
  let buffered: string[] = [];

  function flushBuffered(): void {
    if (buffered.length === 0) return;
    // One join copies once; appending line by line would build a rope of strings that is slow to write.
    stream.write(buffered.join(''));
    buffered = [];
  }

  const timer = setInterval(flushBuffered, FLUSH_INTERVAL_MS).unref();
  return {
    log,
    writeLine(line) {
      if (!wantsAccessLines) return;
      buffered.push(line);
      if (buffered.length >= BUFFERED_LINES_MAX) flushBuffered();
    },
    close: () =>
      new Promise((resolve) => {
        clearInterval(timer);
        flushBuffered();
        stream.flush(() => resolve());
      }),
  };
}

/**
 * The members of an error that a log line may contain. PostgreSQL's `detail` and `where` quote the row concerned, with
 * names and account numbers, so only members that are known to be harmless are logged.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? { code: error.code } : {};
  return { type: name, message, ...code, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}
