import pino from 'pino';

export type Log = pino.Logger;

/** Where log lines go. */
export interface LogSink {
  readonly log: Log;
  /** Takes a line that is ready, with its line end: access lines are too many for the general way. */
  readonly writeLine: (line: string) => void;
  /** Writes what is still gathered. */
  close(): Promise<void>;
}

/** Lines are gathered and written together, so that the hot path does not pay for a write each. */
const BUFFERED_LINES_MAX = 256;
/** A killed process loses at most this much of its log. */
const FLUSH_INTERVAL_MS = 200;

/**
 * Structured log lines (JSON) to `destination`: a file descriptor's number, or the path of a file, which only its owner can
 * read once it is made.
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
    // One join is one copy; adding line to line would leave a chain that is costly to write.
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
 * What a log line may say of an error. PostgreSQL's `detail` and `where` quote the row they stumble on, names and
 * account numbers with it, so only the known harmless members are taken.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? { code: error.code } : {};
  return { type: name, message, ...code, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}
