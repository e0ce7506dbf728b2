import fs from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import { UnavailableError } from '../lib/unavailable-error.ts';
import { createLineBuffer, type LineBuffer } from './line-buffer.ts';

export type Log = pino.Logger;

/** The destination of log lines. */
export interface LogSink {
  readonly log: Log;
  /** Writes a finished line, including its line end: access lines are too many for the general logger. */
  readonly writeLine: (line: string) => void;
  /** Writes whole lines of another process; calls `onBuffered` when the next ones may come. */
  readonly forward: (lines: string, onBuffered: () => void) => void;
  /** The number of lines that were dropped, because the log could not be written as fast as they came. */
  readonly droppedLines: () => number;
  /** Writes the lines that are still buffered, for a limited time. */
  close(): Promise<void>;
}

/**
 * Writes structured log lines (JSON) to `destination`: the number of a file descriptor, or the path of a file. The file
 * is created with mode 0600, so that only its owner can read it. A log that cannot be written delays nothing: see
 * line-buffer.ts. `process`, where several processes share a log, is in each line.
 */
export function createLog(
  destination: number | string,
  level: pino.LevelWithSilent = 'info',
  process?: number,
): LogSink {
  if (typeof destination === 'string') fs.mkdirSync(path.dirname(destination), { recursive: true });
  const buffer: LineBuffer = createLineBuffer(destination, {
    onCaughtUp: (lines) => log.warn({ lines }, 'log lines dropped: the log could not be written; writing again'),
  });
  const log = pino(
    {
      base: process === undefined ? null : { process },
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
    },
    { write: buffer.write },
  );
  return {
    log,
    writeLine: log.isLevelEnabled('info') ? buffer.append : () => {},
    forward: buffer.forward,
    droppedLines: buffer.dropped,
    close: buffer.close,
  };
}

/**
 * The members of an error that a log line may contain. PostgreSQL's `detail` and `where` quote the row concerned, with
 * names and account numbers, so only members that are known to be harmless are logged. The stack shows where a defect
 * is; of an outage and its causes it says nothing.
 */
export function describeError(error: unknown): Record<string, unknown> {
  return describe(error, true);
}

function describe(error: unknown, mayBeDefect: boolean): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, cause } = error;
  const isDefect = mayBeDefect && !(error instanceof UnavailableError);
  return {
    type: name,
    message,
    ...('code' in error ? { code: error.code } : {}),
    ...(isDefect ? { stack: error.stack } : {}),
    ...(cause === undefined ? {} : { cause: describe(cause, isDefect) }),
  };
}
