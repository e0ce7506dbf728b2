import { createPublicKey, type KeyObject } from 'node:crypto';
import { SIGNATURE_STYLES, type SignatureStyle } from './snap/signature.ts';

export interface BankSettings {
  readonly host: string;
  /** 0 lets the operating system choose a free port. */
  readonly port: number;
  /** The protocol and the bank that it simulates (`BANK_PROFILE`). */
  readonly profile: BankProfileName;
  /** The X-CLIENT-KEY of this bank's only partner. */
  readonly clientKey: string;
  /** Key of the symmetric signatures (HMAC_SHA512). */
  readonly clientSecret: string;
  /** RSA key that checks the signature of token requests (SHA256withRSA). */
  readonly clientPublicKey: KeyObject;
  /** The partner's X-PARTNER-ID. */
  readonly partnerId: string;
  /** The partner's CHANNEL-ID. */
  readonly channelId: string;
  /** The ORIGIN header that the partner must send; null requires none. */
  readonly origin: string | null;
  /** How transaction requests are signed; for the SNAP profiles only. */
  readonly signature: SignatureStyle;
  readonly tokenLifetimeSeconds: number;
  /** How far X-TIMESTAMP may be from the bank's clock, before or after it. */
  readonly clockToleranceSeconds: number;
  /** File that stores transfers across restarts; null keeps them in memory only. */
  readonly journalFile: string | null;
  /** Receiver of transfer notifications, at a loopback address; null sends none. */
  readonly notifyUrl: URL | null;
  /** Null: HTTP without TLS. */
  readonly tls: BankTlsSettings | null;
}

export interface BankTlsSettings {
  /** Holds the bank's certificate, its key, and the authority that issued it. */
  readonly directory: string;
  /** The host names and addresses that the certificate is valid for; at least one. */
  readonly names: readonly string[];
}

export type SettingsResult = { readonly settings: BankSettings } | { readonly faults: readonly string[] };

const RSA_BITS_MIN = 2048;
// A parsed URL normalizes every notation of an IPv4 address to this one.
const LOOPBACK_IPV4 = /^127(?:\.\d{1,3}){3}$/;

/**
 * Reads the environment once and reports all faults together. The only place that reads `process.env`. `options` are
 * those of the command line.
 */
export function readSettings(
  environment: NodeJS.ProcessEnv = process.env,
  options: readonly string[] = [],
): SettingsResult {
  const productionFault = findProductionFault(environment);
  if (productionFault !== null) return { faults: [productionFault] };

  const faults: string[] = [];
  const reader = createReader(environment, faults);
  const clientPublicKey = reader.publicKey('BANK_CLIENT_PUBLIC_KEY');
  const settings = {
    host: reader.text('BANK_HOST', { fallback: '127.0.0.1' }),
    port: reader.wholeNumber('BANK_PORT', { fallback: 0, min: 0, max: 65_535 }),
    profile: reader.profile('BANK_PROFILE'),
    clientKey: reader.text('BANK_CLIENT_KEY'),
    clientSecret: reader.text('BANK_CLIENT_SECRET'),
    partnerId: reader.text('BANK_PARTNER_ID', { lengthMax: 36 }),
    channelId: reader.text('BANK_CHANNEL_ID', { fallback: '95221', lengthMax: 5 }),
    origin: environment['BANK_ORIGIN'] || null,
    signature: reader.signature('BANK_SIGNATURE'),
    tokenLifetimeSeconds: reader.wholeNumber('BANK_TOKEN_SECONDS', { fallback: 900, min: 1, max: 86_400 }),
    clockToleranceSeconds: reader.wholeNumber('BANK_CLOCK_TOLERANCE_SECONDS', { fallback: 300, min: 0, max: 86_400 }),
    journalFile: environment['BANK_JOURNAL_FILE'] || null,
    notifyUrl: reader.loopbackUrl('BANK_NOTIFY_URL'),
    tls: reader.tls(options),
  };
  if (clientPublicKey === null || faults.length > 0) return { faults };
  return { settings: { ...settings, clientPublicKey } };
}

interface TextRule {
  readonly fallback?: string;
  readonly lengthMax?: number;
}

interface NumberRule {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

function createReader(environment: NodeJS.ProcessEnv, faults: string[]) {
  function text(name: string, rule: TextRule = {}): string {
    const value = environment[name] || rule.fallback || '';
    if (value === '') faults.push(`${name} is missing.`);
    if (rule.lengthMax !== undefined && value.length > rule.lengthMax) {
      faults.push(`${name} is longer than ${rule.lengthMax} characters.`);
    }
    return value;
  }

  function wholeNumber(name: string, rule: NumberRule): number {
    const value = environment[name] || String(rule.fallback);
    const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= rule.min && number <= rule.max) return number;
    faults.push(`${name} must be a whole number from ${rule.min} to ${rule.max}.`);
    return rule.fallback;
  }

  function publicKey(name: string): KeyObject | null {
    // Most ways to set an environment variable allow one line only, hence the escaped line ends.
    const pem = text(name).replaceAll(String.raw`\n`, '\n');
    if (pem === '') return null;
    const key = parsePublicKey(pem);
    if (typeof key !== 'string') return key;
    faults.push(`${name} ${key}`);
    return null;
  }

  function profile(name: string): BankProfileName {
    const value = environment[name] || 'snap';
    if (isBankProfileName(value)) return value;
    faults.push(`${name} must be one of ${BANK_PROFILE_NAMES.join(', ')}.`);
    return 'snap';
  }

  function signature(name: string): SignatureStyle {
    const value = environment[name] || 'symmetric-base64';
    const style = SIGNATURE_STYLES.find((each) => each === value);
    if (style !== undefined) return style;
    faults.push(`${name} must be one of ${SIGNATURE_STYLES.join(', ')}.`);
    return 'symmetric-base64';
  }

  /** Null without a value, too. Host names are rejected, because the address that a name resolves to may change. */
  function loopbackUrl(name: string): URL | null {
    const value = environment[name] || null;
    if (value === null) return null;
    const url = URL.parse(value);
    const plain = url?.protocol === 'http:' && url.username === '' && url.password === '' && url.hash === '';
    if (plain && (url.hostname === '[::1]' || LOOPBACK_IPV4.test(url.hostname))) return url;
    faults.push(`${name} must be an http URL at a loopback address, such as http://127.0.0.1:8080/notify.`);
    return null;
  }

  /** Null without `--tls`. */
  function tls(options: readonly string[]): BankTlsSettings | null {
    const unknown = options.filter((option) => option !== '--tls');
    if (unknown.length > 0) faults.push(`The simulated bank has the option --tls, and no ${unknown.join(' ')}.`);
    if (!options.includes('--tls')) return null;
    const names = text('BANK_TLS_NAMES', { fallback: 'localhost,127.0.0.1' });
    return { directory: text('BANK_TLS_DIR'), names: names.split(',').map((name) => name.trim()) };
  }

  return { text, wholeNumber, publicKey, profile, signature, loopbackUrl, tls };
}

/** The key, or the fault as the rest of a sentence that begins with the setting's name. */
function parsePublicKey(pem: string): KeyObject | string {
  // createPublicKey accepts a private key and derives the public one; a bank never holds its partner's private key.
  if (pem.includes('PRIVATE KEY')) return 'holds a private key: give the public one only, and replace the key pair.';
  try {
    const key = createPublicKey(pem);
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    if (key.asymmetricKeyType === 'rsa' && bits >= RSA_BITS_MIN) return key;
    return `must be an RSA key of at least ${RSA_BITS_MIN} bits.`;
  } catch {
    return 'is not a public key in PEM format.';
  }
}

/** The banks that it can simulate: the values of `BANK_PROFILE`. */
const BANK_PROFILE_NAMES = [
  'snap',
  'snap-bca',
  'snap-bri',
  'snap-mandiri',
  'snap-midtrans',
  'acmt-03',
  'acmt-04',
  'bi-fast',
] as const;
export type BankProfileName = (typeof BANK_PROFILE_NAMES)[number];

const isBankProfileName = (name: string): name is BankProfileName =>
  (BANK_PROFILE_NAMES as readonly string[]).includes(name);

/**
 * The reason why the simulated bank must not start in this environment, or null. It invents account holders: if it
 * answered one real check, real money would be sent to an account that was never verified. The message names variables
 * only, because their values may be secrets.
 */
function findProductionFault(environment: NodeJS.ProcessEnv): string | null {
  const variables = [
    ...(isProduction(environment['NODE_ENV']) ? ['NODE_ENV'] : []),
    ...['DATABASE_URL', 'TIBA_RAILS_FILE'].filter((name) => isSet(environment[name])),
  ];
  if (variables.length === 0 || environment['TIBA_STAGING'] === 'yes') return null;
  return (
    `The simulated bank refuses to start next to a production configuration (${variables.join(', ')}), because it ` +
    'invents account holders that real payments must never rely on. Start it in an environment without ' +
    'NODE_ENV=production, DATABASE_URL and TIBA_RAILS_FILE, or, for a rehearsal without real money, with ' +
    'TIBA_STAGING=yes.'
  );
}

function isProduction(value: string | undefined): boolean {
  return value?.trim().toLowerCase() === 'production';
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}
