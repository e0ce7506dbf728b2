import { generate } from 'selfsigned';

/** PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

const KEYS = { keyType: 'ec', algorithm: 'sha256' } as const;
const named = (name: string) => [{ name: 'commonName', value: name }];

/** A certificate authority that issues certificates for a test. */
export async function createAuthority(): Promise<{
  readonly certificate: string;
  issue(name: string, expiresAt?: Date, validFrom?: Date): Promise<IssuedCertificate>;
}> {
  const authority = await generate(named('Test authority'), {
    ...KEYS,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
    ],
  });
  return {
    certificate: authority.cert,
    async issue(name, expiresAt, validFrom) {
      const issued = await generate(named(name), {
        ...KEYS,
        ...(expiresAt === undefined ? {} : { notAfterDate: expiresAt }),
        ...(validFrom === undefined ? {} : { notBeforeDate: validFrom }),
        ca: { key: authority.private, cert: authority.cert },
        extensions: [
          { name: 'basicConstraints', cA: false },
          { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
          {
            name: 'subjectAltName',
            altNames: [
              { type: 2, value: 'localhost' },
              { type: 7, ip: '127.0.0.1' },
            ],
          },
        ],
      });
      return { certificate: issued.cert, privateKey: issued.private };
    },
  };
}
