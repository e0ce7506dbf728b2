import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { BankDirectory } from '../domain/bank.ts';
import type { SnapSettings } from './snap/settings.ts';

const SnapConnection = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }),
    protocol: Type.Literal('snap'),
    base_url: Type.String(),
    client_key: Type.String({ minLength: 1 }),
    client_secret_file: Type.String({ minLength: 1 }),
    private_key_file: Type.String({ minLength: 1 }),
    partner_id: Type.String({ minLength: 1, maxLength: 36 }),
    channel_id: Type.String({ minLength: 1, maxLength: 5 }),
    own_bank: Type.Optional(Type.String()),
    banks: Type.Union([Type.Literal('*'), Type.Array(Type.String(), { minItems: 1 })]),
  },
  { additionalProperties: false },
);

const RailsFile = Type.Object({ rails: Type.Array(SnapConnection, { minItems: 1 }) }, { additionalProperties: false });

export type RailsFileResult = { readonly connections: SnapSettings[] } | { readonly faults: string[] };

/** Reads the connections to banks; secrets stand in files of their own, relative to this one. All faults at once. */
export function readRailsFile(file: string, banks: BankDirectory): RailsFileResult {
  const faults: string[] = [];

  function readText(name: string, what: string): string | null {
    try {
      return readFileSync(path.resolve(path.dirname(file), name), 'utf8').trim();
    } catch (error) {
      faults.push(`${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  function readSecret(name: string, what: string): string | null {
    const secret = readText(name, what);
    if (secret === '') faults.push(`${what} is empty`);
    return secret;
  }

  function checkAddress(address: string, what: string): void {
    const url = URL.canParse(address) ? new URL(address) : null;
    const bare = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
    if (url?.protocol !== 'https:' || !bare) {
      faults.push(`${what} must be an https:// address without user, query or fragment`);
    }
  }

  function readPrivateKey(name: string, what: string): KeyObject | null {
    const pem = readText(name, what);
    if (pem === null) return null;
    try {
      const key = createPrivateKey(pem);
      if (key.asymmetricKeyType === 'rsa') return key;
    } catch {
      // Said below, without the reason: it may quote the key.
    }
    faults.push(`${what} is not an RSA private key in PEM format`);
    return null;
  }

  function bicOf(code: string, what: string): string | null {
    const bank = banks.find(code);
    if (bank === null) faults.push(`${what}: ${code} is not in the bank directory`);
    return bank?.bic ?? null;
  }

  function connect(entry: Static<typeof SnapConnection>): SnapSettings | null {
    checkAddress(entry.base_url, `${entry.name}: base_url`);
    const clientSecret = readSecret(entry.client_secret_file, `${entry.name}: client_secret_file`);
    const privateKey = readPrivateKey(entry.private_key_file, `${entry.name}: private_key_file`);
    const ownBank = entry.own_bank === undefined ? null : bicOf(entry.own_bank, `${entry.name}: own_bank`);
    const served = entry.banks === '*' ? null : entry.banks.map((code) => bicOf(code, `${entry.name}: banks`));
    if (clientSecret === null || privateKey === null) return null;
    return {
      name: entry.name,
      baseUrl: entry.base_url,
      clientKey: entry.client_key,
      clientSecret,
      privateKey,
      partnerId: entry.partner_id,
      channelId: entry.channel_id,
      ownBank,
      banks: served === null ? null : new Set(served.filter((bic) => bic !== null)),
    };
  }

  const content = readText(file, 'TIBA_RAILS_FILE');
  const value = content === null ? null : parseJson(content, faults);
  if (faults.length > 0) return { faults };
  if (!Value.Check(RailsFile, value)) {
    const errors = Value.Errors(RailsFile, value).map(
      (error) =>
        `TIBA_RAILS_FILE ${error.instancePath || '/'} ${error.keyword === 'boolean' ? 'is not a known field' : error.message}`,
    );
    return { faults: errors };
  }
  const names = value.rails.map(({ name }) => name);
  for (const name of new Set(names.filter((name, index) => names.indexOf(name) !== index))) {
    faults.push(`${name}: there are several connections of this name`);
  }
  const connections = value.rails.map(connect).filter((connection) => connection !== null);
  return faults.length > 0 ? { faults } : { connections };
}

function parseJson(content: string, faults: string[]): unknown {
  try {
    return JSON.parse(content);
  } catch {
    faults.push('TIBA_RAILS_FILE is not valid JSON');
    return null;
  }
}
