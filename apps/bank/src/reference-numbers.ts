import { randomInt } from 'node:crypto';

/** Numbers of 22 digits: a part drawn at start keeps them unique across restarts, a counter within one run. */
export function createReferenceNumbers(): () => string {
  const run = String(randomInt(1_000_000_000, 10_000_000_000));
  let count = 0;
  return () => {
    count += 1;
    return run + String(count).padStart(12, '0');
  };
}
