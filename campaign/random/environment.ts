import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type PostgresServer, startPostgresServer } from '../../test/fault-injection/postgres-server.ts';
import { createAuthority } from '../../test/rails/certificates.ts';
import { type RsaKeys, rsaKeys } from '../../test/support/rsa-keys.ts';

/** As which partner the service appears at the bank. */
export const BANK_IDENTITY = { clientKey: 'tiba-campaign', partnerId: 'TIBA', channelId: '95221' };

/** PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** What all rounds of a campaign share. */
export interface Environment {
  readonly directory: string;
  readonly postgres: PostgresServer;
  /** Of the bank and of the receiver. */
  readonly certificate: Certificate;
  /** The authority that issued it, as a file. */
  readonly authorityFile: string;
  readonly bankKeys: RsaKeys;
  readonly bankClientSecret: string;
  close(): Promise<void>;
}

const CONNECTIONS_MAX = '200';

export async function openEnvironment(): Promise<Environment> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-campaign-'));
  const authority = await createAuthority();
  const { certificate: cert, privateKey: key } = await authority.issue('127.0.0.1');
  const authorityFile = path.join(directory, 'authority.pem');
  await writeFile(authorityFile, authority.certificate);
  const postgres = await startPostgresServer({ settings: { max_connections: CONNECTIONS_MAX } });
  return {
    directory,
    postgres,
    certificate: { key, cert },
    authorityFile,
    bankKeys: rsaKeys(),
    bankClientSecret: randomBytes(24).toString('base64url'),
    async close() {
      await postgres.remove();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Writes the rails file of production, with one SNAP connection for every bank; returns its path. */
export async function writeRailsFile(environment: Environment, bankUrl: string): Promise<string> {
  const { directory, bankKeys, bankClientSecret, authorityFile } = environment;
  await writeFile(path.join(directory, 'bank-secret.txt'), bankClientSecret);
  await writeFile(path.join(directory, 'bank-key.pem'), bankKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const rail = {
    name: 'bank',
    protocol: 'snap',
    base_url: bankUrl,
    client_key: BANK_IDENTITY.clientKey,
    client_secret_file: 'bank-secret.txt',
    private_key_file: 'bank-key.pem',
    partner_id: BANK_IDENTITY.partnerId,
    channel_id: BANK_IDENTITY.channelId,
    own_bank: 'CENAIDJA',
    banks: '*',
    ca_file: authorityFile,
  };
  const file = path.join(directory, 'rails.json');
  await writeFile(file, JSON.stringify({ rails: [rail] }));
  return file;
}
