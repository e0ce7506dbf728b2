import { hash, hkdfSync } from 'node:crypto';

/** What an account is known by where its number has no business: 32 hexadecimal digits, the same for the same account. */
export type HashAccount = (bic: string, accountNumber: string) => string;

const KEY_BYTES = 32;
const DIGITS_KEPT = 32;

/**
 * A keyed hash: 128 bits of SHA-256 over a counter, a secret key and the account (NIST SP 800-56C rev. 2, section 4.1, option 1).
 * There are so few account numbers that all can be tried: without the key, which is made of `secretKey`, trying them
 * tells nothing.
 *
 * HMAC would be two hashes. Its second one is against whoever adds to a message that was hashed; that needs the whole of a
 * hash, and half of one is given away here. Each check needs this, so it is half the cost that counts.
 */
export function createAccountHash(secretKey: Buffer): HashAccount {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'tiba account hash', KEY_BYTES)).toString('hex');
  const beginning = `\u0000\u0000\u0000\u0001${key}`;
  return (bic, accountNumber) => hash('sha256', `${beginning}${bic} ${accountNumber}`, 'hex').slice(0, DIGITS_KEPT);
}
