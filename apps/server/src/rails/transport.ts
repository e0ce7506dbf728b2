import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ConnectionReader } from './connection-reader.ts';
import { containsSimulatedAuthority } from './simulated-bank.ts';

/** TLS identity, trust and proxy of a connection to a bank. The system's defaults apply where a member is absent. */
export interface BankTransport {
  /** PEM: the client certificate for mutual TLS, followed by its issuers. Always together with the key. */
  readonly clientCertificate?: string;
  /** PEM, without a passphrase. */
  readonly clientPrivateKey?: string;
  /** PEM: the certificate authorities trusted for the bank, instead of the system's. */
  readonly authorities?: string;
  /** An HTTP proxy that receives CONNECT only: it cannot read the traffic between the bank and the operator. */
  readonly proxyUrl?: string;
  /** Only in a rehearsal: the connection may lead to the simulated bank. */
  readonly maySimulate?: true;
}

/** The transport fields of an entry of the rails file. */
export interface TransportEntry {
  readonly client_certificate_file?: string;
  readonly client_private_key_file?: string;
  readonly ca_file?: string;
  readonly proxy_url?: string;
}

/** Undefined when the entry has none of the fields. `name` is the connection's. */
export function readTransport(
  entry: TransportEntry,
  { name, staging }: { readonly name: string; readonly staging: boolean },
  reader: ConnectionReader,
): BankTransport | undefined {
  const {
    client_certificate_file: certificateFile,
    client_private_key_file: keyFile,
    ca_file: authoritiesFile,
    proxy_url: proxyUrl,
  } = entry;
  if ((certificateFile === undefined) !== (keyFile === undefined)) {
    reader.fault(`${name}: client_certificate_file and client_private_key_file must be given together`);
  }
  const read = (file: string | undefined, field: string): string | null =>
    file === undefined ? null : reader.text(file, `${name}: ${field}`);

  const certificatePem = read(certificateFile, 'client_certificate_file');
  const certificate = certificatePem === null ? null : parseCertificate(certificatePem);
  if (certificatePem !== null && certificate === null) {
    reader.fault(`${name}: client_certificate_file is not a certificate in PEM format`);
  }
  const keyPem = read(keyFile, 'client_private_key_file');
  if (keyPem !== null) checkKey(keyPem, certificate, name, reader);
  const authorities = read(authoritiesFile, 'ca_file');
  if (authorities !== null && parseCertificate(authorities) === null) {
    reader.fault(`${name}: ca_file contains no certificate in PEM format`);
  }
  if (authorities !== null && !staging && containsSimulatedAuthority(authorities)) {
    reader.fault(
      `${name}: ca_file is the authority of the simulated bank, which invents account holders: name the ` +
        "bank's own, or set TIBA_STAGING=yes for a rehearsal without real money",
    );
  }
  if (proxyUrl !== undefined && !isProxyAddress(proxyUrl)) {
    reader.fault(`${name}: proxy_url must be an http:// or https:// address without user, path or query`);
  }

  const transport: BankTransport = {
    ...(certificatePem === null ? {} : { clientCertificate: certificatePem }),
    ...(keyPem === null ? {} : { clientPrivateKey: keyPem }),
    ...(authorities === null ? {} : { authorities }),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(staging ? { maySimulate: true } : {}),
  };
  return Object.keys(transport).length === 0 ? undefined : transport;
}

function parseCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** Checked at the start. Later, a wrong key would look like an unreachable bank. */
function checkKey(pem: string, certificate: X509Certificate | null, name: string, reader: ConnectionReader): void {
  try {
    const key = createPrivateKey(pem);
    if (certificate?.checkPrivateKey(key) === false) {
      reader.fault(`${name}: client_private_key_file is not the key of client_certificate_file`);
    }
  } catch {
    // Without the reason, which may quote the key.
    reader.fault(`${name}: client_private_key_file is not a private key in PEM format`);
  }
}

function isProxyAddress(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return `${url.username}${url.password}${url.search}${url.hash}` === '' && url.pathname === '/';
}
