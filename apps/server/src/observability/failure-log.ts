import type { RunReport } from '../lib/repeat.ts';
import { UnavailableError } from '../lib/unavailable-error.ts';
import type { Log } from './log.ts';

/**
 * Logs what fails again and again, such as a loop during an outage: the first failure with `message`, those that follow
 * as a number, and that it works again. During an outage, a failure of another kind is logged as well.
 */
export function createFailureLog(
  log: Pick<Log, 'warn' | 'info'>,
  message: string,
  fields: Readonly<Record<string, string>> = {},
): RunReport {
  let failures = 0;
  let loggedKind: string | null = null;
  return {
    failed(error) {
      failures += 1;
      const kind = kindOf(error);
      if (kind !== loggedKind) log.warn({ err: error, ...fields }, message);
      loggedKind = kind;
    },
    succeeded() {
      if (failures > 0) log.info({ failures, warning: message, ...fields }, 'works again');
      failures = 0;
      loggedKind = null;
    },
  };
}

/** The same for all errors of an outage: refused, reset, starting up. */
function kindOf(error: unknown): string {
  if (error instanceof UnavailableError) return 'unavailable';
  return error instanceof Error ? error.message : String(error);
}
