import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A self-signed certificate, which is its own authority; PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Uses the openssl command: Node cannot create certificates. */
export function createCertificate(...alternativeNames: string[]): Certificate {
  const folder = mkdtempSync(path.join(tmpdir(), 'tiba-certificate-'));
  try {
    const key = path.join(folder, 'key.pem');
    const cert = path.join(folder, 'cert.pem');
    const names = `subjectAltName=${alternativeNames.join(',')}`;
    const request = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=receiver'.split(' ');
    const made = spawnSync('openssl', ['req', ...request, '-addext', names, '-keyout', key, '-out', cert]);
    if (made.status !== 0) throw new Error(`openssl: ${made.error?.message ?? made.stderr.toString()}`);
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
