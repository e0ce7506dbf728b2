import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseNetwork } from '../outbound/address-guard.ts';
import { parseDatabaseUrl } from '../postgres/database-url.ts';

/** How the text of an environment variable becomes a setting's value (config.ts). */
export interface Setting<T> {
  readonly name: string;
  readonly description: string;
  /** As it would be written in the environment; absent where the setting has no default. */
  readonly fallback?: string;
  readonly secret?: true;
  /** @throws Error whose message completes "NAME must be …". */
  readonly parse: (text: string) => T;
}

export const setting = <T>(
  name: string,
  parse: (value: string) => T,
  description: string,
  options: { readonly secret?: true } = {},
): Setting<T> => ({ name, parse, description, ...options });

export const withDefault = <T>(
  name: string,
  fallback: string,
  parse: (value: string) => T,
  description: string,
): Setting<T> & { readonly fallback: string } => ({ name, fallback, parse, description });

export const text = (value: string): string => value;

export const wholeNumber =
  (min: number, max: number) =>
  (value: string): number => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new Error(`a whole number from ${min} to ${max}`);
  };

const PROCESSES_MAX = 64;

/** `auto`: as many as the cores that this process may use, also where a container or a CPU quota limits them. */
export function processes(value: string): number {
  if (value === 'auto') return Math.min(availableParallelism(), PROCESSES_MAX);
  if (/^[1-9]\d?$/.test(value) && Number(value) <= PROCESSES_MAX) return Number(value);
  throw new Error(`auto or a whole number from 1 to ${PROCESSES_MAX}`);
}

export function yesOrNo(value: string): boolean {
  if (value === 'yes' || value === 'true') return true;
  if (value === 'no' || value === 'false') return false;
  throw new Error('yes or no');
}

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

export function tlsVersion(value: string): TlsVersion {
  if (value === '1.3') return 'TLSv1.3';
  if (value === '1.2') return 'TLSv1.2';
  throw new Error('1.3 or 1.2');
}

/** Long enough that it cannot be guessed. RFC 6750, section 2.1: b64token. */
export function metricsToken(value: string): string {
  if (/^[A-Za-z0-9\-._~+/]{32,}=*$/.test(value)) return value;
  throw new Error('at least 32 letters, digits or -._~+/, for example from: openssl rand -hex 32');
}

export const port = wholeNumber(0, 65_535);

export function url(...protocols: string[]) {
  return (value: string): string => {
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    throw new Error(`an address that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
  };
}

/** As given: `connectionTo` reads it again. */
export function databaseUrl(value: string): string {
  parseDatabaseUrl(value);
  return value;
}

export const httpUrl = url('http:', 'https:');
/** Without a slash at the end: paths are appended to it. */
export const publicUrl = (value: string): string => httpUrl(value).replace(/\/$/, '');

/** AES-256. */
export const SECRET_KEY_BYTES = 32;
export const GENERATE_SECRET_KEY = `openssl rand -base64 ${SECRET_KEY_BYTES}`;

export function secretKey(value: string): Buffer {
  const key = Buffer.from(value, 'base64');
  if (key.length === SECRET_KEY_BYTES) return key;
  throw new Error(`${SECRET_KEY_BYTES} bytes in base64, for example from: ${GENERATE_SECRET_KEY}`);
}

export const list = (value: string): string[] =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

export const ports = (value: string): number[] => list(value).map(wholeNumber(1, 65_535));

export const networks = (value: string): string[] =>
  list(value).map((entry) => {
    if (parseNetwork(entry) === null)
      throw new Error(`addresses or networks (CIDR), separated by commas; ${entry} is neither`);
    return entry;
  });

/** Of web pages, as browsers write them: a wildcard would admit every page, and plain http any page of a network. */
export const origins = (value: string): string[] =>
  list(value).map((entry) => {
    const url = URL.canParse(entry) ? new URL(entry) : null;
    const isHere = url !== null && LOOPBACK.has(url.hostname);
    if (url?.origin === entry && (url.protocol === 'https:' || (url.protocol === 'http:' && isHere))) return entry;
    throw new Error(
      'origins such as https://app.example.com, in lower case and without a path, separated by commas; http is for ' +
        `pages of this machine only, and * would admit every page. ${entry} is none`,
    );
  });

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export interface OverdueAfter {
  readonly minutes: number;
  /** By bank code, for the banks that have minutes of their own. */
  readonly minutesOfBanks: ReadonlyMap<string, number>;
}

/** `30,BCA=10`: the minutes for all banks, then those of single banks. */
export function overdueAfter(value: string): OverdueAfter {
  const minutes = wholeNumber(1, 100_000);
  const [general = '', ...banks] = list(value);
  return {
    minutes: minutes(general),
    minutesOfBanks: new Map(
      banks.map((entry) => {
        const [code = '', own = ''] = entry.split('=');
        return [code, minutes(own)];
      }),
    ),
  };
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const logLevel = oneOf(...LOG_LEVELS);

export function oneOf<const T extends string>(...values: readonly T[]) {
  return (value: string): T => {
    const found = values.find((each) => each === value);
    if (found !== undefined) return found;
    throw new Error(values.length === 1 ? String(values[0]) : `one of ${values.join(', ')}`);
  };
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable that names a file with a secret: systemd, Kubernetes and Docker hand secrets over as files. */
export const fileVariable = ({ name }: Setting<unknown>): string => `${name}_FILE`;

/** An empty variable counts as not set. */
export const isSet = (each: Setting<unknown>, environment: Environment): boolean =>
  Boolean(environment[each.name] || (each.secret === true && environment[fileVariable(each)]));

/** The secrets that are given by file, by their variables. Line ends after a secret are left out. */
export function readSecretFiles(
  settings: readonly Setting<unknown>[],
  environment: Environment,
  faults: string[],
): Environment {
  const secrets: Record<string, string> = {};
  for (const each of settings) {
    const variable = fileVariable(each);
    const file = each.secret === true ? environment[variable] : undefined;
    if (file === undefined || file === '') continue;
    if (environment[each.name]) {
      faults.push(`${each.name} and ${variable} are both set: choose one of them`);
      continue;
    }
    try {
      secrets[each.name] = readFileSync(file, 'utf8').replace(/[\r\n]+$/, '');
      if (secrets[each.name] === '') faults.push(`${variable} must name a file that is not empty`);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      faults.push(`${variable} must name a file that can be read: ${code}`);
    }
  }
  return secrets;
}
