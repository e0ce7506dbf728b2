import type { ValidationQueue } from '../postgres/account-validation-rows.ts';

export interface Share extends ValidationQueue {
  /** How many questions it may ask now. */
  readonly limit: number;
}

/**
 * Divides what each bank can be asked now among the jobs that wait for it: each gets as much as the others, and what
 * cannot be divided goes to the first. Give the queues in another order each time, so that it is not always the same.
 */
export function shareCapacity(queues: readonly ValidationQueue[], roomOf: (bic: string) => number): Share[] {
  const byBank = Map.groupBy(queues, ({ bic }) => bic);
  return [...byBank].flatMap(([bic, waiting]) => {
    const room = roomOf(bic);
    const shareOf = (queue: ValidationQueue, place: number): Share => ({
      ...queue,
      limit: Math.ceil((room - place) / waiting.length),
    });
    return waiting.map(shareOf).filter(({ limit }) => limit > 0);
  });
}
