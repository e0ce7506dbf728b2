import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { RSA_KEYS_VARIABLE } from './suite-environment.ts';

export interface RsaKeys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** At least as many as any test uses. */
const COUNT = 6;

export const generateRsaKeys = (): string =>
  JSON.stringify(Array.from({ length: COUNT }, () => generate().privateKey.export({ type: 'pkcs8', format: 'pem' })));

const prepared = JSON.parse(process.env[RSA_KEYS_VARIABLE] ?? '[]') as string[];
let used = 0;

/** A key pair other than those that the last calls in this process returned. */
export function rsaKeys(): RsaKeys {
  const pem = prepared[used % prepared.length];
  used += 1;
  if (pem === undefined) return generate();
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

const generate = (): RsaKeys => generateKeyPairSync('rsa', { modulusLength: 2048 });
