import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import type { BankTlsSettings } from './settings.ts';

/** The certificate that the bank shows, and its key; PEM. */
export interface BankCertificate {
  readonly certificate: string;
  readonly privateKey: string;
  /** The file with the authority that issued it: partners trust this one. */
  readonly authorityFile: string;
}

/** The folder cannot be used. The message names it and says why. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

/**
 * The organization of the authority. The service recognizes the simulated bank by it and refuses it beside real money,
 * so it must not change.
 */
const ORGANIZATION = 'Tiba simulated bank';

const FILES = { authority: 'ca.pem', certificate: 'bank.pem', privateKey: 'bank-key.pem' } as const;
const VALID_DAYS = 365;
/** A certificate that ends sooner is replaced at the next start. */
const LEFT_DAYS_MIN = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Reads the bank's certificate from the folder. If there is none for all of the names, or it ends soon, a new authority
 * issues one. The key of the authority is never written, so that nothing else can be issued by it.
 *
 * @throws CertificateError
 */
export async function loadOrCreateCertificate({ directory, names }: BankTlsSettings): Promise<BankCertificate> {
  try {
    return (await load(directory, names)) ?? (await create(directory, names));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CertificateError(`The certificates cannot be kept in BANK_TLS_DIR: ${reason}.`, { cause: error });
  }
}

const fileIn = (directory: string, file: keyof typeof FILES): string => path.resolve(directory, FILES[file]);

async function load(directory: string, names: readonly string[]): Promise<BankCertificate | null> {
  const [authorityPem, certificate, privateKey] = await Promise.all([
    readIfThere(fileIn(directory, 'authority')),
    readIfThere(fileIn(directory, 'certificate')),
    readIfThere(fileIn(directory, 'privateKey')),
  ]);
  if (authorityPem === null || certificate === null || privateKey === null) return null;
  const authority = new X509Certificate(authorityPem);
  const leaf = new X509Certificate(certificate);
  const leftMs = leaf.validToDate.getTime() - Date.now();
  const isUsable =
    leaf.verify(authority.publicKey) &&
    leaf.checkPrivateKey(createPrivateKey(privateKey)) &&
    leftMs > LEFT_DAYS_MIN * DAY_MS &&
    names.every((name) => (isIP(name) === 0 ? leaf.checkHost(name) : leaf.checkIP(name)) !== undefined);
  return isUsable ? { certificate, privateKey, authorityFile: fileIn(directory, 'authority') } : null;
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

async function create(directory: string, names: readonly string[]): Promise<BankCertificate> {
  const { authority, certificate, privateKey } = await issue(names);
  await mkdir(directory, { recursive: true });
  const keyFile = fileIn(directory, 'privateKey');
  await writeFile(keyFile, privateKey, { mode: 0o600 });
  // The mode of a file that was there before stays.
  await chmod(keyFile, 0o600);
  await writeFile(fileIn(directory, 'certificate'), certificate);
  await writeFile(fileIn(directory, 'authority'), authority);
  return { certificate, privateKey, authorityFile: fileIn(directory, 'authority') };
}

async function issue(names: readonly string[]): Promise<Record<'authority' | 'certificate' | 'privateKey', string>> {
  // Loaded here, because only a bank with TLS needs it.
  const { generate } = await import('selfsigned');
  const options = {
    keyType: 'ec',
    algorithm: 'sha256',
    notAfterDate: new Date(Date.now() + VALID_DAYS * DAY_MS),
  } as const;
  const subject = (commonName: string) => [
    { name: 'organizationName', value: ORGANIZATION },
    { name: 'commonName', value: commonName },
  ];
  const authority = await generate(subject('Authority of the simulated bank'), {
    ...options,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const issued = await generate(subject('Simulated bank'), {
    ...options,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: names.map((name) => (isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name })),
      },
    ],
  });
  return { authority: authority.cert, certificate: issued.cert, privateKey: issued.private };
}
