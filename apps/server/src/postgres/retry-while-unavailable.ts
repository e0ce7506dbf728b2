import { setTimeout as wait } from 'node:timers/promises';
import { DatabaseUnavailable } from './database.ts';

/** Between doing it in vain and doing it again. */
const PAUSE_MS = 250;

export interface RetryOptions {
  /** Nobody waits for it any longer. */
  readonly signal: AbortSignal;
  readonly onUnavailable: (error: DatabaseUnavailable) => void;
}

/** Does it again for as long as PostgreSQL cannot answer. Null when `signal` came first. */
export async function retryWhileUnavailable<T>(
  action: () => Promise<T>,
  { signal, onUnavailable }: RetryOptions,
): Promise<T | null> {
  while (!signal.aborted) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      onUnavailable(error);
      await wait(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }
  return null;
}
