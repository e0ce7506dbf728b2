import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { TlsFile, TlsFiles } from '../../config/listeners.ts';

/** What a listener presents to its peers, and whom it trusts: read from files, and checked. */
export interface TlsIdentity {
  readonly context: SecureContextOptions;
  /** Whether a handshake needs a certificate of the client. */
  readonly demandsClientCertificate: boolean;
  readonly certificate: X509Certificate;
  readonly validFromMs: number;
  readonly expiresAtMs: number;
  /** What was read, to compare it with what is read later. */
  readonly contents: string;
}

/** The message names the setting, and says what is wrong with its file. */
export class TlsFilesFault extends Error {
  override readonly name = 'TlsFilesFault';
}

/** PEM. */
export interface TlsContents {
  readonly certificate: string;
  readonly key: string;
  /** Null where clients need no certificate. */
  readonly clientCa: string | null;
}

/** Those of Mozilla's intermediate configuration (server-side TLS 5.7) that Node's OpenSSL offers to TLS 1.2. */
const TLS_1_2_CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];
const TLS_1_3_CIPHERS = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** At the start. @throws TlsFilesFault when a file cannot be read */
export const readTlsFilesSync = ({ certificateFile, keyFile, clientCaFile }: TlsFiles): TlsContents => ({
  certificate: readPemSync(certificateFile),
  key: readPemSync(keyFile),
  clientCa: clientCaFile === null ? null : readPemSync(clientCaFile),
});

/** While requests are answered. @throws TlsFilesFault when a file cannot be read */
export const readTlsFiles = async ({ certificateFile, keyFile, clientCaFile }: TlsFiles): Promise<TlsContents> => ({
  certificate: await readPem(certificateFile),
  key: await readPem(keyFile),
  clientCa: clientCaFile === null ? null : await readPem(clientCaFile),
});

function readPemSync({ path, setting }: TlsFile): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(setting, error);
  }
}

const readPem = ({ path, setting }: TlsFile): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    throw unreadable(setting, error);
  });

function unreadable(setting: string, error: unknown): TlsFilesFault {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return new TlsFilesFault(`${setting} must name a file that can be read: ${code}`);
}

/** @throws TlsFilesFault when the contents cannot be used, or do not belong together */
export function createTlsIdentity(contents: TlsContents, files: TlsFiles): TlsIdentity {
  const { certificate, key, clientCa } = contents;
  const { certificateFile, keyFile, clientCaFile, minVersion } = files;
  const leaf = parseCertificate(certificate, certificateFile.setting);
  const privateKey = parseKey(key, keyFile.setting);
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new TlsFilesFault(
      `${keyFile.setting} must name the key of the first certificate in ${certificateFile.setting}: it is another one`,
    );
  }
  const authorities =
    clientCa === null || clientCaFile === null ? null : parseAuthorities(clientCa, clientCaFile.setting);
  const context: SecureContextOptions = {
    cert: certificate,
    key,
    minVersion,
    ciphers: [...TLS_1_3_CIPHERS, ...TLS_1_2_CIPHERS].join(':'),
    ...(authorities === null ? {} : { ca: authorities }),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new TlsFilesFault(`${certificateFile.setting} cannot be used: ${messageOf(error)}`);
  }
  const demandsClientCertificate = authorities !== null;
  return {
    context,
    demandsClientCertificate,
    certificate: leaf,
    validFromMs: leaf.validFromDate.getTime(),
    expiresAtMs: leaf.validToDate.getTime(),
    contents: JSON.stringify(contents),
  };
}

function parseCertificate(pem: string, setting: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new TlsFilesFault(`${setting} must name a file with a certificate in PEM: -----BEGIN CERTIFICATE-----`);
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;

/** Without one, Node would trust the public authorities: each owner of a web site would have a certificate. */
function parseAuthorities(pem: string, setting: string): string[] {
  const authorities = pem.match(CERTIFICATE) ?? [];
  const faulty = authorities.filter((each) => !parseCertificate(each, setting).ca);
  if (authorities.length > 0 && faulty.length === 0) return authorities;
  throw new TlsFilesFault(`${setting} must name a file with certificates of authorities (CA:TRUE) in PEM`);
}

function parseKey(pem: string, setting: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new TlsFilesFault(`${setting} must name a file with a private key in PEM, without a passphrase`);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
