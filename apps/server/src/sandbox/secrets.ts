import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { generateSecret, SEAL_KEY_BYTES } from '../auth/secrets.ts';
import { writePrivateFile } from './private-file.ts';

/** What a sandbox makes up at its first start and keeps, so that credentials pasted yesterday still work today. */
export interface SandboxSecrets {
  readonly secretKey: Buffer;
  readonly bankClientSecret: string;
  /** PEM, PKCS #8. */
  readonly bankPrivateKey: string;
  readonly clients: SandboxClientSecrets;
}

export interface SandboxClientSecrets {
  /** The client that owns the demo transactions, another client, and the feed. */
  readonly shop: string;
  readonly payroll: string;
  readonly core: string;
}

interface SecretsFile {
  readonly secret_key: string;
  readonly bank_client_secret: string;
  readonly bank_private_key: string;
  readonly clients: SandboxClientSecrets;
}

export async function keepSecrets(file: string): Promise<SandboxSecrets> {
  const kept = (await readKept(file)) ?? (await makeUp(file));
  return {
    secretKey: Buffer.from(kept.secret_key, 'base64'),
    bankClientSecret: kept.bank_client_secret,
    bankPrivateKey: kept.bank_private_key,
    clients: kept.clients,
  };
}

async function readKept(file: string): Promise<SecretsFile | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as SecretsFile;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new Error(`${file} cannot be read: move it away to let the sandbox make a new one`, { cause: error });
  }
}

async function makeUp(file: string): Promise<SecretsFile> {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const secrets: SecretsFile = {
    secret_key: randomBytes(SEAL_KEY_BYTES).toString('base64'),
    bank_client_secret: generateSecret(),
    bank_private_key: privateKey,
    clients: { shop: generateSecret(), payroll: generateSecret(), core: generateSecret() },
  };
  await writePrivateFile(file, JSON.stringify(secrets, null, 2));
  return secrets;
}
