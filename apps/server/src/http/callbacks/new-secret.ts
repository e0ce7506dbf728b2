import { randomBytes } from 'node:crypto';
import { SECRET_PREFIX } from '../../callbacks/sign.ts';

const SECRET_BYTES = 32;

/** A secret as Standard Webhooks writes it ("Signature scheme"): 24 to 64 random bytes in base64, behind a prefix. */
export const newCallbackSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
