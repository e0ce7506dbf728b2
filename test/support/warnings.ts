import pino from 'pino';
import { describeError } from '../../apps/server/src/observability/log.ts';

/** Logging for a service in a child process: warnings go to stderr, which the test shows; access lines are dropped. */
export const warningsOnly = {
  log: pino({ base: null, level: 'warn', serializers: { err: describeError } }, pino.destination(2)),
  writeLine: (): void => {},
  droppedLines: (): number => 0,
};
