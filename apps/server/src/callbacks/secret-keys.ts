import type { Seal } from '../auth/secrets.ts';
import { secretKeyOf } from './sign.ts';

/** Opening a seal costs more than signing; what was opened last is kept. */
const KEPT_MAX = 1_000;

/** Opens the sealed secrets of endpoints. */
export function createSecretKeys(seal: Seal): (sealed: Buffer) => Buffer {
  /** In order of use. */
  const kept = new Map<string, Buffer>();
  return (sealed) => {
    const name = sealed.toString('latin1');
    const known = kept.get(name);
    const key = known ?? secretKeyOf(seal.open(sealed));
    if (known !== undefined) kept.delete(name);
    kept.set(name, key);
    if (kept.size > KEPT_MAX) {
      const [oldest] = kept.keys();
      if (oldest !== undefined) kept.delete(oldest);
    }
    return key;
  };
}
