import { SEAL_KEY_BYTES } from './auth/secrets.ts';
import { StartError } from './lib/start-error.ts';
import { parseNetwork } from './outbound/address-guard.ts';

/**
 * Every setting there is, read once and in this file only. docs/configuration.md is generated from this table.
 *
 * `sandbox` is `npm start`: it needs no setting at all. `serve` is `npm run serve`, the production form, which starts
 * only when nothing is missing.
 */
export type Mode = 'sandbox' | 'serve' | 'manage';

interface Setting<T> {
  readonly name: string;
  readonly description: string;
  /** As it would be written in the environment; absent where the setting has no default. */
  readonly fallback?: string;
  readonly secret?: true;
  /** @throws Error whose message completes "NAME must be …". */
  readonly parse: (text: string) => T;
}

const text = (value: string): string => value;

const wholeNumber =
  (min: number, max: number) =>
  (value: string): number => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new Error(`a whole number from ${min} to ${max}`);
  };

const port = wholeNumber(0, 65_535);

function url(...protocols: string[]) {
  return (value: string): string => {
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    throw new Error(`an address that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
  };
}

const httpUrl = url('http:', 'https:');
/** Paths are put behind it. */
const publicUrl = (value: string): string => httpUrl(value).replace(/\/$/, '');

function secretKey(value: string): Buffer {
  const key = Buffer.from(value, 'base64');
  if (key.length === SEAL_KEY_BYTES) return key;
  throw new Error(`${SEAL_KEY_BYTES} bytes in base64, for example from: openssl rand -base64 ${SEAL_KEY_BYTES}`);
}

const list = (value: string): string[] =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

const ports = (value: string): number[] => list(value).map(wholeNumber(1, 65_535));

const networks = (value: string): string[] =>
  list(value).map((entry) => {
    if (parseNetwork(entry) === null)
      throw new Error(`addresses or networks (CIDR), separated by commas: not ${entry}`);
    return entry;
  });

export interface OverdueAfter {
  readonly minutes: number;
  /** By bank code. */
  readonly minutesOfBanks: ReadonlyMap<string, number>;
}

/** `30,BCA=10` : the minutes for all banks, then those of single ones. */
function overdueAfter(value: string): OverdueAfter {
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

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
function logLevel(value: string): (typeof LOG_LEVELS)[number] {
  const level = LOG_LEVELS.find((each) => each === value);
  if (level !== undefined) return level;
  throw new Error(`one of ${LOG_LEVELS.join(', ')}`);
}

type Rest = { readonly secret?: true };

const setting = <T>(name: string, parse: (value: string) => T, description: string, rest: Rest = {}): Setting<T> => ({
  name,
  parse,
  description,
  ...rest,
});

const withDefault = <T>(
  name: string,
  fallback: string,
  parse: (value: string) => T,
  description: string,
): Setting<T> & { readonly fallback: string } => ({ name, fallback, parse, description });

export const SETTINGS = {
  host: withDefault('TIBA_HOST', '127.0.0.1', text, 'Address the public listener binds to.'),
  port: withDefault('TIBA_PORT', '8080', port, 'Port of the public listener: the API for clients. 0 takes a free one.'),
  operatorHost: withDefault(
    'TIBA_OPERATOR_HOST',
    '127.0.0.1',
    text,
    'Address the operator listener binds to. Keep it where clients cannot reach it.',
  ),
  operatorPort: withDefault(
    'TIBA_OPERATOR_PORT',
    '8081',
    port,
    'Port of the operator listener: feed, health and metrics. 0 takes a free one.',
  ),
  publicUrl: setting(
    'TIBA_PUBLIC_URL',
    publicUrl,
    'The address by which clients reach the public listener. It is the issuer and the audience of access tokens.',
  ),
  trustedProxies: withDefault(
    'TIBA_TRUSTED_PROXIES',
    '',
    list,
    'Addresses or networks (CIDR), separated by commas, of the reverse proxies whose `X-Forwarded-For` is believed.',
  ),
  dataDirectory: withDefault(
    'TIBA_DATA_DIR',
    '.tiba',
    text,
    'Where the embedded PostgreSQL and the sandbox keep their data. In production, setting it instead of `DATABASE_URL` chooses the embedded PostgreSQL.',
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    url('postgres:', 'postgresql:'),
    'A PostgreSQL server, version 15 or later, instead of the embedded one.',
    { secret: true },
  ),
  databaseConnections: withDefault(
    'TIBA_DATABASE_CONNECTIONS',
    '16',
    wholeNumber(12, 1_000),
    'Connections to PostgreSQL that this process may hold.',
  ),
  secretKey: setting(
    'TIBA_SECRET_KEY',
    secretKey,
    'Encrypts what is kept secret in the database: 32 random bytes in base64. The same for all processes.',
    { secret: true },
  ),
  tokenSeconds: withDefault(
    'TIBA_TOKEN_SECONDS',
    '900',
    wholeNumber(60, 86_400),
    'Life of an access token, in seconds.',
  ),
  tokenIssuer: setting(
    'TIBA_TOKEN_ISSUER',
    httpUrl,
    'An external issuer of access tokens (`iss`) instead of the built-in one. Needs `TIBA_TOKEN_JWKS_URL`.',
  ),
  tokenJwksUrl: setting('TIBA_TOKEN_JWKS_URL', httpUrl, "Where the external issuer's keys are (JWKS)."),
  tokenAudience: setting(
    'TIBA_TOKEN_AUDIENCE',
    text,
    'The audience that access tokens must name (`aud`). By default the address of the public listener.',
  ),
  railsFile: setting('TIBA_RAILS_FILE', text, 'The connections to banks: see [the rails file](rails-file.md).'),
  checkStatusPerMinute: withDefault(
    'TIBA_CHECK_STATUS_PER_MINUTE',
    '120',
    wholeNumber(0, 100_000_000),
    'Requests to check-status per client in any 60 seconds, for clients without limits of their own.',
  ),
  checkAccountPerMinute: withDefault(
    'TIBA_CHECK_ACCOUNT_PER_MINUTE',
    '100',
    wholeNumber(0, 100_000_000),
    'Requests to check-account per client in any 60 seconds, for clients without limits of their own.',
  ),
  accountsPerDay: withDefault(
    'TIBA_ACCOUNTS_PER_DAY',
    '100000',
    wholeNumber(0, 10_000_000),
    'Different accounts that a client may ask about in a day (as in Jakarta), for clients without a number of their own.',
  ),
  eventsPerMinute: withDefault(
    'TIBA_EVENTS_PER_MINUTE',
    '120',
    wholeNumber(0, 100_000_000),
    'Requests for events per client in any 60 seconds.',
  ),
  callbacksPerMinute: withDefault(
    'TIBA_CALLBACKS_PER_MINUTE',
    '120',
    wholeNumber(0, 100_000_000),
    'Requests about callback endpoints and deliveries per client in any 60 seconds.',
  ),
  banksPerMinute: withDefault(
    'TIBA_BANKS_PER_MINUTE',
    '120',
    wholeNumber(0, 100_000_000),
    'Requests about banks per client in any 60 seconds.',
  ),
  accountValidationsPerMinute: withDefault(
    'TIBA_ACCOUNT_VALIDATIONS_PER_MINUTE',
    '120',
    wholeNumber(0, 100_000_000),
    "Requests about account validations per client in any 60 seconds. How fast the accounts are checked is for the banks' quotas to say.",
  ),
  overdueAfter: withDefault(
    'TIBA_OVERDUE_MINUTES',
    '30',
    overdueAfter,
    'Minutes within which a bank is expected to be done with a disbursement; past them it is overdue. Single banks may have their own: `30,BCA=10,MANDIRI=45`.',
  ),
  staleSeconds: withDefault(
    'TIBA_STALE_SECONDS',
    '10',
    wholeNumber(1, 3_600),
    'A transaction in PROCESS that its bank was asked about longer ago than this is asked about again when somebody reads it.',
  ),
  verdictSeconds: withDefault(
    'TIBA_VERDICT_SECONDS',
    '0',
    wholeNumber(0, 86_400),
    'How long what a bank said of an account is kept in memory, names with it, for clients that accept an older answer (`Cache-Control: max-age`). 0: not at all.',
  ),
  accountValidationDays: withDefault(
    'TIBA_ACCOUNT_VALIDATION_DAYS',
    '7',
    wholeNumber(1, 3_650),
    'Days after which an account validation that has ended is forgotten, with the account numbers and names in it.',
  ),
  auditDays: withDefault(
    'TIBA_AUDIT_DAYS',
    '400',
    wholeNumber(0, 36_500),
    'How many days the record of an account check is kept. 0: for ever.',
  ),
  callbackPorts: withDefault(
    'TIBA_CALLBACK_PORTS',
    '443,8443',
    ports,
    'Ports that callbacks may be sent to, separated by commas.',
  ),
  callbackNetworks: withDefault(
    'TIBA_CALLBACK_NETWORKS',
    '',
    networks,
    'Addresses or networks (CIDR), separated by commas, that callbacks may be sent to although they are private: for receivers inside your own network.',
  ),
  authenticationFailuresPerMinute: withDefault(
    'TIBA_AUTHENTICATION_FAILURES_PER_MINUTE',
    '100',
    wholeNumber(1, 1_000_000),
    'Failed authentications per address in any 60 seconds; then the address has to wait.',
  ),
  logLevel: withDefault(
    'TIBA_LOG_LEVEL',
    'info',
    logLevel,
    `Least severe log lines to write: ${LOG_LEVELS.join(', ')}.`,
  ),
} as const satisfies Record<string, Setting<unknown>>;

type Parsed<S> = S extends Setting<infer T> ? (S extends { readonly fallback: string } ? T : T | null) : never;

/** A setting without a default is null when it is not set. */
export type Settings = { readonly [Key in keyof typeof SETTINGS]: Parsed<(typeof SETTINGS)[Key]> };

/** All that is wrong with the settings, at once. */
export class SettingsError extends StartError {
  override readonly name = 'SettingsError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`the settings are incomplete or wrong:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws SettingsError with all faults */
export function readSettings(mode: Mode, environment: Environment = process.env): Settings {
  const { settings, faults } = validateSettings(mode, environment);
  if (faults.length > 0) throw new SettingsError(faults);
  return settings;
}

/** The settings and what is wrong with them, for whoever has more to judge: a setting with a fault is null. */
export function validateSettings(
  mode: Mode,
  environment: Environment = process.env,
): { readonly settings: Settings; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const entries = Object.entries(SETTINGS).map(([key, each]) => [key, readOne(each, environment, faults)]);
  // Each value was parsed by its own setting, which TypeScript cannot follow through entries.
  const settings = Object.fromEntries(entries) as Settings;
  faults.push(...(mode === 'serve' ? findGaps(environment) : []));
  if (mode === 'sandbox') faults.push(...findProductionSigns(environment));
  if (isSet(SETTINGS.tokenIssuer, environment) !== isSet(SETTINGS.tokenJwksUrl, environment)) {
    faults.push('TIBA_TOKEN_ISSUER and TIBA_TOKEN_JWKS_URL go together: set both or neither');
  }
  return { settings, faults };
}

function readOne(each: Setting<unknown>, environment: Environment, faults: string[]): unknown {
  // An empty variable is one that is not set: many ways to set them cannot leave one out.
  const value = environment[each.name] || each.fallback;
  if (value === undefined) return null;
  try {
    return each.parse(value);
  } catch (error) {
    faults.push(`${each.name} must be ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

const isSet = ({ name }: Setting<unknown>, environment: Environment): boolean => Boolean(environment[name]);

/** What is set but wrong is not missing: its own fault says what is wrong with it. */
function findGaps(environment: Environment): string[] {
  const faults: string[] = [];
  const require = (alternatives: readonly Setting<unknown>[], fault: string): void => {
    if (!alternatives.some((each) => isSet(each, environment))) faults.push(fault);
  };
  require([
    SETTINGS.databaseUrl,
    SETTINGS.dataDirectory,
  ], 'DATABASE_URL is missing: the address of PostgreSQL (or set TIBA_DATA_DIR to use the embedded one)');
  require([SETTINGS.publicUrl], 'TIBA_PUBLIC_URL is missing: the address by which clients reach this service');
  require([SETTINGS.secretKey], `TIBA_SECRET_KEY is missing: make one with: openssl rand -base64 ${SEAL_KEY_BYTES}`);
  require([SETTINGS.railsFile], 'TIBA_RAILS_FILE is missing: the file with the connections to banks');
  return faults;
}

/** The sandbox invents transactions and banks: neither may come near real money. */
function findProductionSigns(environment: Environment): string[] {
  const signs = [
    ...(environment['NODE_ENV']?.trim().toLowerCase() === 'production' ? ['NODE_ENV=production'] : []),
    // A database may be the sandbox's own; with these beside it, it is what production is about to use.
    ...[SETTINGS.railsFile, SETTINGS.secretKey, SETTINGS.publicUrl]
      .filter((each) => isSet(each, environment))
      .map(({ name }) => name),
  ];
  return signs.map((sign) => `${sign} belongs to production, where the sandbox must not run: use npm run serve`);
}
