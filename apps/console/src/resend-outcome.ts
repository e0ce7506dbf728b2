import type { TimelineEntry } from './generated/api.ts';

/** How the attempt ended that follows on sending a callback again. Pure. */

export interface AttemptOutcome {
  readonly isAccepted: boolean;
  /** The HTTP status of the receiver, or why it has given none. */
  readonly answer: string;
}

const fact = ({ facts }: TimelineEntry, name: string): string | null =>
  facts.find((each) => each.name === name)?.value ?? null;

/** Null while the timeline of the transaction has no attempt after the first `attempts`. */
export function outcomeAfter(
  entries: readonly TimelineEntry[],
  deliveryId: string,
  attempts: number,
): AttemptOutcome | null {
  const attempt = entries.find(
    (each) =>
      each.kind === 'callback_attempt' &&
      fact(each, 'delivery_id') === deliveryId &&
      Number(fact(each, 'attempt')) > attempts,
  );
  if (attempt === undefined) return null;
  const status = fact(attempt, 'http_status');
  if (status === null) return { isAccepted: false, answer: fact(attempt, 'error') ?? '–' };
  const isAccepted = status.startsWith('2');
  return { isAccepted, answer: isAccepted ? status : `HTTP ${status}` };
}
