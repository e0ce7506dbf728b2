import pino from 'pino';
import { describeError } from '../../apps/server/src/observability/log.ts';

/** For the service in a process of its own: warnings go where the test shows them, access lines nowhere. */
export const warningsOnly = {
  log: pino({ base: null, level: 'warn', serializers: { err: describeError } }, pino.destination(2)),
  writeLine: (): void => {},
};
