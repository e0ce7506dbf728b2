import { keyOf } from '../domain/identifiers.ts';
import type { ValidationQueue } from '../postgres/account-validation-rows.ts';
import type { ValidationKey } from '../postgres/account-validations.ts';

/** The queues with waiting rows, as of the last look at the database. One queue is one validation at one bank. */
export interface ValidationQueues {
  list(): readonly ValidationQueue[];
  /** Takes over what a new look has found. Validations that were paused since the last look may appear in it again. */
  replace(found: ValidationQueue[]): void;
  remove(empty: readonly ValidationQueue[]): void;
  /** Moves the first queue to the end. */
  rotate(): void;
  /** Removes the queues of a validation. False when the validation was paused before, since the last look. */
  pause(validation: ValidationKey): boolean;
}

export function createValidationQueues(): ValidationQueues {
  const paused = new Set<string>();
  let queues: ValidationQueue[] = [];
  return {
    list: () => queues,
    replace(found) {
      queues = found;
      paused.clear();
    },
    remove(empty) {
      const keys = new Set(empty.map(queueKey));
      queues = queues.filter((queue) => !keys.has(queueKey(queue)));
    },
    rotate() {
      queues.push(...queues.splice(0, 1));
    },
    pause(validation) {
      const key = keyOf(validation.clientId, validation.validationId);
      if (paused.has(key)) return false;
      paused.add(key);
      queues = queues.filter(
        ({ clientId, validationId }) => clientId !== validation.clientId || validationId !== validation.validationId,
      );
      return true;
    },
  };
}

export const queueKey = ({ clientId, validationId, bic }: ValidationQueue): string =>
  `${keyOf(clientId, validationId)} ${bic}`;

export interface CapacityShare extends ValidationQueue {
  /** How many rows of the queue may be claimed now. */
  readonly limit: number;
}

/**
 * Divides the capacity of each bank equally among the validations that wait for it. The remainder of the division goes
 * to the first queues, so rotate the queues between calls: otherwise the same validations always get it.
 */
export function shareCapacity(
  queues: readonly ValidationQueue[],
  capacityOf: (bic: string) => number,
): CapacityShare[] {
  const byBank = Map.groupBy(queues, ({ bic }) => bic);
  return [...byBank].flatMap(([bic, ofBank]) => {
    const capacity = capacityOf(bic);
    const shareOf = (queue: ValidationQueue, index: number): CapacityShare => ({
      ...queue,
      limit: Math.ceil((capacity - index) / ofBank.length),
    });
    return ofBank.map(shareOf).filter(({ limit }) => limit > 0);
  });
}
