import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createAuthority, type IssuedCertificate } from '../rails/certificates.ts';

/** The certificate and the key of a service under test, whose authority this process trusts from now on. */
export interface TlsTestFiles {
  readonly directory: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Of the authority. */
  readonly authorityFile: string;
  issue(name: string, expiresAt?: Date, validFrom?: Date): Promise<IssuedCertificate>;
  /** First the certificate and then the key, as a tool that renews them does. */
  replace(issued: IssuedCertificate): Promise<void>;
  remove(): Promise<void>;
}

export async function createTlsFiles(): Promise<TlsTestFiles> {
  const authority = await createAuthority();
  setDefaultCACertificates([...getCACertificates('bundled'), authority.certificate]);
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-tls-'));
  const file = (name: string): string => path.join(directory, name);
  const put = async (name: string, content: string): Promise<void> => {
    await writeFile(file(`${name}.new`), content);
    await rename(file(`${name}.new`), file(name));
  };
  const replace = async ({ certificate, privateKey }: IssuedCertificate): Promise<void> => {
    await put('certificate.pem', certificate);
    await put('key.pem', privateKey);
  };
  await put('authority.pem', authority.certificate);
  await replace(await authority.issue('first'));
  return {
    directory,
    certificateFile: file('certificate.pem'),
    keyFile: file('key.pem'),
    authorityFile: file('authority.pem'),
    issue: authority.issue,
    replace,
    remove: () => rm(directory, { recursive: true }),
  };
}
