import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generateSecret } from '../auth/secrets.ts';
import { SECRET_KEY_BYTES } from '../config/values.ts';

/**
 * The secrets that a sandbox generates at its first start and keeps, so that credentials pasted yesterday still work.
 */
export interface SandboxSecrets {
  readonly secretKey: Buffer;
  readonly bankClientSecret: string;
  /** PEM, PKCS #8. */
  readonly bankPrivateKey: string;
  readonly clients: SandboxClientSecrets;
  readonly snap: SandboxSnapSecrets;
}

/** What the demo client signs its SNAP requests with. */
export interface SandboxSnapSecrets {
  readonly secret: string;
  /** PEM, PKCS #8. */
  readonly privateKey: string;
}

export interface SandboxClientSecrets {
  /** The client that owns most demo transactions, a second client, and the disbursement core that feeds them. */
  readonly shop: string;
  readonly payroll: string;
  readonly core: string;
}

interface SecretsFile {
  readonly secret_key: string;
  readonly bank_client_secret: string;
  readonly bank_private_key: string;
  readonly clients: SandboxClientSecrets;
  /** Absent in the file of an older sandbox. */
  readonly snap?: { readonly secret: string; readonly private_key: string };
}

export async function loadOrCreateSecrets(file: string): Promise<SandboxSecrets> {
  const found = await readSecretsFile(file);
  const stored = { ...(found ?? createSecrets()), snap: found?.snap ?? createSnapSecrets() };
  if (found?.snap === undefined) await writePrivateFile(file, JSON.stringify(stored, null, 2));
  return {
    secretKey: Buffer.from(stored.secret_key, 'base64'),
    bankClientSecret: stored.bank_client_secret,
    bankPrivateKey: stored.bank_private_key,
    clients: stored.clients,
    snap: { secret: stored.snap.secret, privateKey: stored.snap.private_key },
  };
}

async function readSecretsFile(file: string): Promise<SecretsFile | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as SecretsFile;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new Error(`${file} cannot be read: move it away, and the next start creates a new one`, { cause: error });
  }
}

const createSecrets = (): SecretsFile => ({
  secret_key: randomBytes(SECRET_KEY_BYTES).toString('base64'),
  bank_client_secret: generateSecret(),
  bank_private_key: createPrivateKey(),
  clients: { shop: generateSecret(), payroll: generateSecret(), core: generateSecret() },
});

const createSnapSecrets = () => ({ secret: generateSecret(), private_key: createPrivateKey() });

const createPrivateKey = (): string =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey;

/** Writes a file that only its owner can read. A reader never sees it half-written. */
export async function writePrivateFile(file: string, content: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, `${content}\n`, { mode: 0o600 });
  await rename(temporary, file);
}
