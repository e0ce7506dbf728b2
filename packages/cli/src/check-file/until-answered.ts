import { setTimeout as delay } from 'node:timers/promises';
import type { TibaError } from '../../../client/src/index.ts';
import { CommandError, isTibaError } from '../errors.ts';
import { plain } from '../output/style.ts';

export interface Retrying {
  readonly signal: AbortSignal;
  /** Says that something waits, and for what. */
  readonly note: (message: string) => void;
}

const FIRST_WAIT_MS = 1_000;
const WAIT_MS_MAX = 30_000;
/** A deployment or the failure of a machine is over by then. After this time, a person should know. */
const OUTAGE_MS_MAX = 15 * 60_000;

/**
 * Repeats a call that is safe to repeat until the service answers, and waits for as long as it says.
 * @throws CommandError when it does not answer for a quarter of an hour; whatever else the call throws
 */
export async function untilAnswered<T>(call: () => Promise<T>, { signal, note }: Retrying): Promise<T> {
  const startedMs = Date.now();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTibaError(error) || !isPassing(error)) throw error;
      const reason = error.message.replace(/\.$/, '');
      if (Date.now() - startedMs > OUTAGE_MS_MAX) throw outage(error, reason);
      const waitMs = Math.max(error.retryAfterMs ?? 0, Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** attempt));
      note(`${reason}; will retry in ${Math.ceil(waitMs / 1_000)} s`);
      await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

const PASSING: ReadonlySet<TibaError['error_code']> = new Set<TibaError['error_code']>([
  'CONNECTION_FAILED',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMIT_EXCEEDED',
  'REQUEST_TIMEOUT',
  'TIMEOUT',
]);

/** May be over with the next request; a proxy's fault too. */
const isPassing = ({ error_code: code, status }: TibaError): boolean =>
  PASSING.has(code) || (code === 'UNEXPECTED_ANSWER' && (status ?? 0) >= 500);

const outage = (cause: TibaError, reason: string): CommandError =>
  new CommandError('error', `the service has not answered for ${OUTAGE_MS_MAX / 60_000} minutes (${plain(reason)})`, {
    advice: 'Run the same command again when it answers: it goes on where it was.',
    cause,
  });
