import { isTibaError, reportOf } from '../errors.ts';

/** What one check has found. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly message: string;
  /** What to do; null when there is nothing to do. */
  readonly advice: string | null;
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message, advice: null });
export const warning = (check: string, message: string, advice: string): Finding => ({
  check,
  state: 'warning',
  message,
  advice,
});
export const failed = (check: string, message: string, advice: string): Finding => ({
  check,
  state: 'failed',
  message,
  advice,
});

/** The message and the advice of a failed call. */
export function failureOf(check: string, error: unknown, otherwise: string): Finding {
  if (!isTibaError(error)) throw error;
  const { message, advice, error_code: code } = reportOf(error);
  return failed(check, `${code}: ${message}`, advice ?? otherwise);
}
