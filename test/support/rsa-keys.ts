import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { RSA_KEYS_VARIABLE } from './suite-environment.ts';

export interface RsaKeys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** At least as many as any test file uses. */
const COUNT = 4;

export const generateRsaKeys = (): string =>
  JSON.stringify(Array.from({ length: COUNT }, () => generate().privateKey.export({ type: 'pkcs8', format: 'pem' })));

const prepared = JSON.parse(process.env[RSA_KEYS_VARIABLE] ?? '[]') as string[];

/** A key pair that no other call in this process returns. */
export function rsaKeys(): RsaKeys {
  const pem = prepared.pop();
  if (pem === undefined) return generate();
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

const generate = (): RsaKeys => generateKeyPairSync('rsa', { modulusLength: 2048 });
