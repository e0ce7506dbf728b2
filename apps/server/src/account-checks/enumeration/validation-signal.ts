import { levelFor } from './restrictions.ts';
import {
  CLUSTERED_NUMBERS_THRESHOLDS,
  createSequentialNumbers,
  SEQUENTIAL_NUMBERS_THRESHOLDS,
} from './sequential-numbers.ts';

/** The signal by which a client would be blocked in the middle of a validation, and its figure for all accounts. */
export interface ValidationSignal {
  readonly signal: 'sequential_numbers' | 'clustered_numbers';
  readonly figure: number;
}

/**
 * Evaluates the accounts of a validation as if they were checked one after the other without a pause, before any of
 * them is. Null when all of them could be checked: then the client is at most slowed. The accounts must be different
 * ones.
 */
export function findValidationSignal(
  accounts: readonly { bic: string; accountNumber: string }[],
): ValidationSignal | null {
  const numbers = createSequentialNumbers();
  let found: ValidationSignal['signal'] | null = null;
  let inRuns = 0;
  let inClusters = 0;
  for (const [index, { bic, accountNumber }] of accounts.entries()) {
    numbers.recordCheck(bic, accountNumber, 0);
    inRuns = Math.max(inRuns, numbers.inRuns());
    inClusters = Math.max(inClusters, numbers.inClusters());
    // The account with which the client is blocked is still checked, so the last one blocks nothing of this validation.
    if (found !== null || index === accounts.length - 1) continue;
    if (levelFor(inRuns, SEQUENTIAL_NUMBERS_THRESHOLDS) === 'blocked') found = 'sequential_numbers';
    else if (levelFor(inClusters, CLUSTERED_NUMBERS_THRESHOLDS) === 'blocked') found = 'clustered_numbers';
  }
  if (found === null) return null;
  return { signal: found, figure: found === 'sequential_numbers' ? inRuns : inClusters };
}
