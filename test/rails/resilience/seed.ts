import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { createRandom } from '../../contract/random.ts';

/** Random numbers that `PROTECTION_SEED` repeats; the seed is printed with each run. */
export function seededRandom(t: TestContext): () => number {
  const seed = Number(process.env['PROTECTION_SEED'] ?? randomInt(2 ** 31));
  t.diagnostic(`PROTECTION_SEED=${seed}`);
  return createRandom(seed);
}
