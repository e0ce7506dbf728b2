import type { ProcessingTimes } from '../../transactions/processing-times.ts';

type ReadField = 'transaction_id' | 'bank_name' | 'created_at';

/**
 * A text field of a rendered transaction. Only the field is read, because this is done for each answer about one that is
 * in PROCESS; no value can hold what is looked for, because the quotes in it are escaped.
 */
export function readRendered(rendered: string, field: ReadField): string {
  const start = rendered.indexOf(`"${field}":"`) + field.length + '"":"'.length;
  const text = rendered.slice(start, rendered.indexOf('"', start));
  return text.includes('\\') ? (JSON.parse(rendered) as Record<ReadField, string>)[field] : text;
}

/** Retry-After of an answer about a transaction in PROCESS, from how long its bank has taken lately. */
export type RetryAfter = (rendered: string) => string;

export const createRetryAfter =
  (durations: Pick<ProcessingTimes, 'pollAfterSeconds'>): RetryAfter =>
  (rendered) =>
    String(durations.pollAfterSeconds(readRendered(rendered, 'bank_name'), readRendered(rendered, 'created_at')));
