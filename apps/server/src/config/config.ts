import { StartError } from '../lib/start-error.ts';
import { CONSOLE_SETTINGS } from './console.ts';
import { faultsOfTls, LISTENER_SETTINGS } from './listeners.ts';
import { findPeopleFaults, PEOPLE_SETTINGS } from './people.ts';
import { findRetentionFaults, RETENTION_SETTINGS } from './retention.ts';
import { TRACING_SETTINGS } from './tracing.ts';
import { findUnknownVariables } from './unknown-variables.ts';
import {
  databaseUrl,
  type Environment,
  GENERATE_SECRET_KEY,
  httpUrl,
  isSet,
  LOG_LEVELS,
  logLevel,
  networks,
  overdueAfter,
  ports,
  processes,
  readSecretFiles,
  type Setting,
  secretKey,
  setting,
  text,
  url,
  wholeNumber,
  withDefault,
  yesOrNo,
} from './values.ts';

/**
 * Every setting, read once and in this file only; those of the listeners are in listeners.ts.
 * docs/configuration.md is generated from this table.
 *
 * `sandbox` is `npm start`: it needs no setting. `serve` is `npm run serve`, production: it starts only when no
 * required setting is missing. `manage` is `npm run manage`.
 */
export type Mode = 'sandbox' | 'serve' | 'manage';

const REQUESTS_PER_MINUTE = wholeNumber(0, 100_000_000);

export const SETTINGS = {
  ...LISTENER_SETTINGS,
  ...PEOPLE_SETTINGS,
  processes: withDefault(
    'TIBA_PROCESSES',
    '1',
    processes,
    'Number of processes that `serve` runs on the same ports, or `auto`: one for each core. ' +
      'With more than one, a [parent](operating.md#several-processes-on-one-machine) starts and replaces them.',
  ),
  dataDirectory: withDefault(
    'TIBA_DATA_DIR',
    '.tiba',
    text,
    'Directory for the data of the embedded PostgreSQL and of the sandbox. ' +
      'In production, set it instead of `DATABASE_URL` to use the embedded PostgreSQL.',
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    databaseUrl,
    'Connection URL of a PostgreSQL server, version 15 or later, to use instead of the embedded one. Several hosts, ' +
      'separated by commas, need `target_session_attrs=read-write`: the one that accepts writes is used.',
    { secret: true },
  ),
  migrate: withDefault(
    'TIBA_MIGRATE',
    'no',
    yesOrNo,
    'Whether `serve` migrates the schema when it starts: yes or no. With no, `npm run migrate` does it before.',
  ),
  databaseConnections: withDefault(
    'TIBA_DATABASE_CONNECTIONS',
    '16',
    wholeNumber(9, 1_000),
    'Maximum number of connections to PostgreSQL that each process opens.',
  ),
  valkeyUrl: setting(
    'TIBA_VALKEY_URL',
    url('redis:', 'rediss:'),
    'URL of a Valkey or Redis server, version 7 or later, in which several processes count together: ' +
      '`redis://user:password@host:6379`, or `rediss://` for TLS.',
    { secret: true },
  ),
  valkeyCluster: withDefault('TIBA_VALKEY_CLUSTER', 'no', yesOrNo, 'Whether `TIBA_VALKEY_URL` is a node of a cluster.'),
  secretKey: setting(
    'TIBA_SECRET_KEY',
    secretKey,
    'Key that encrypts the secrets in the database: 32 random bytes in base64. All processes need the same key.',
    { secret: true },
  ),
  previousSecretKey: setting(
    'TIBA_SECRET_KEY_PREVIOUS',
    secretKey,
    'The key that `TIBA_SECRET_KEY` replaces, while it [is being replaced](operating.md#replace-the-secret-key).',
    { secret: true },
  ),
  tokenSeconds: withDefault(
    'TIBA_TOKEN_SECONDS',
    '900',
    wholeNumber(60, 86_400),
    'Lifetime of an access token, in seconds.',
  ),
  tokenIssuer: setting(
    'TIBA_TOKEN_ISSUER',
    httpUrl,
    'Issuer (`iss`) of an external authorization server, to use instead of the built-in one. ' +
      'Needs `TIBA_TOKEN_JWKS_URL`.',
  ),
  tokenJwksUrl: setting(
    'TIBA_TOKEN_JWKS_URL',
    httpUrl,
    "URL of the external issuer's public keys (JWKS). They are read again after ten minutes; while that fails, the " +
      'last ones are accepted for a day.',
  ),
  tokenAudience: setting(
    'TIBA_TOKEN_AUDIENCE',
    text,
    'Audience (`aud`) that access tokens must have. By default the URL of the public listener.',
  ),
  railsFile: setting(
    'TIBA_RAILS_FILE',
    text,
    'Path of the file with the connections to banks: see [the rails file](rails-file.md).',
  ),
  checkStatusPerMinute: withDefault(
    'TIBA_CHECK_STATUS_PER_MINUTE',
    '120',
    REQUESTS_PER_MINUTE,
    'Limit of check-status requests per client in any 60 seconds, for clients without a limit of their own.',
  ),
  checkAccountPerMinute: withDefault(
    'TIBA_CHECK_ACCOUNT_PER_MINUTE',
    '100',
    REQUESTS_PER_MINUTE,
    'Limit of check-account requests per client in any 60 seconds, for clients without a limit of their own.',
  ),
  accountsPerDay: withDefault(
    'TIBA_ACCOUNTS_PER_DAY',
    '100000',
    wholeNumber(0, 10_000_000),
    'Limit of different accounts that a client may check per day (Jakarta time), ' +
      'for clients without a limit of their own.',
  ),
  eventsPerMinute: withDefault(
    'TIBA_EVENTS_PER_MINUTE',
    '120',
    REQUESTS_PER_MINUTE,
    'Limit of requests for events per client in any 60 seconds.',
  ),
  callbacksPerMinute: withDefault(
    'TIBA_CALLBACKS_PER_MINUTE',
    '120',
    REQUESTS_PER_MINUTE,
    'Limit of requests about callback endpoints and deliveries per client in any 60 seconds.',
  ),
  banksPerMinute: withDefault(
    'TIBA_BANKS_PER_MINUTE',
    '120',
    REQUESTS_PER_MINUTE,
    'Limit of requests about banks per client in any 60 seconds.',
  ),
  accountValidationsPerMinute: withDefault(
    'TIBA_ACCOUNT_VALIDATIONS_PER_MINUTE',
    '120',
    REQUESTS_PER_MINUTE,
    'Limit of requests about account validations per client in any 60 seconds. ' +
      "The speed at which the accounts are checked depends on the banks' quotas instead.",
  ),
  transactionsPerMinute: withDefault(
    'TIBA_TRANSACTIONS_PER_MINUTE',
    '120',
    REQUESTS_PER_MINUTE,
    'Limit of requests for lists of transactions per client in any 60 seconds. An export counts as one.',
  ),
  accountChecksPerMinute: withDefault(
    'TIBA_ACCOUNT_CHECKS_PER_MINUTE',
    '120',
    REQUESTS_PER_MINUTE,
    "Limit of requests for lists of a client's own account checks per client in any 60 seconds.",
  ),
  overdueAfter: withDefault(
    'TIBA_OVERDUE_MINUTES',
    '30',
    overdueAfter,
    'Minutes after which a disbursement in PROCESS is overdue. ' +
      'Single banks can have their own: `30,BCA=10,MANDIRI=45`.',
  ),
  staleSeconds: withDefault(
    'TIBA_STALE_SECONDS',
    '10',
    wholeNumber(1, 3_600),
    'Reading a transaction in PROCESS starts a new status inquiry at its bank if the last one is older than this.',
  ),
  verdictSeconds: withDefault(
    'TIBA_VERDICT_SECONDS',
    '0',
    wholeNumber(0, 86_400),
    "How long a bank's verdict on an account, with the holder's name, is cached in memory and, encrypted, in Valkey " +
      'for clients that accept an older answer (`Cache-Control: max-age`). 0: no cache.',
  ),
  ...RETENTION_SETTINGS,
  callbackPorts: withDefault(
    'TIBA_CALLBACK_PORTS',
    '443,8443',
    ports,
    'Ports to which callbacks may be sent, separated by commas.',
  ),
  callbackNetworks: withDefault(
    'TIBA_CALLBACK_NETWORKS',
    '',
    networks,
    'Private addresses or networks (CIDR), separated by commas, to which callbacks may be sent: ' +
      'for receivers inside your own network.',
  ),
  authenticationFailuresPerMinute: withDefault(
    'TIBA_AUTHENTICATION_FAILURES_PER_MINUTE',
    '100',
    wholeNumber(1, 1_000_000),
    'Limit of failed authentications per client and IP address (IPv6: one /64 network) in any 60 seconds; more are ' +
      'answered with 429.',
  ),
  readyWhenReadOnly: withDefault(
    'TIBA_READY_WHEN_READ_ONLY',
    'yes',
    yesOrNo,
    'Whether `/readyz` says 200 (`degraded`) while PostgreSQL is read-only and only reads work. ' +
      'Choose `no` if another site can take over all requests.',
  ),
  paused: withDefault(
    'TIBA_PAUSED',
    'no',
    yesOrNo,
    'Whether the process calls no receiver, asks no bank, and deletes and archives nothing: for ' +
      '[a paused copy](backup.md#a-paused-copy).',
  ),
  demoTransactions: withDefault(
    'TIBA_DEMO_TRANSACTIONS',
    'yes',
    yesOrNo,
    'Whether the sandbox orders a disbursement every 15 seconds in its first hour, so that something moves.',
  ),
  staging: withDefault('TIBA_STAGING', 'no', yesOrNo, 'Whether this is [a rehearsal](production.md#the-staging-form).'),
  stopDelaySeconds: withDefault(
    'TIBA_STOP_DELAY_SECONDS',
    '0',
    wholeNumber(0, 300),
    'Time between SIGTERM, when `/readyz` turns to 503, and the moment from which the process accepts no more ' +
      'requests. Set it to the time in which your ' +
      '[load balancer](operating.md#restarts-that-no-client-notices) notices.',
  ),
  eventLoopDelayMs: withDefault(
    'TIBA_EVENT_LOOP_DELAY_MS',
    '500',
    wholeNumber(0, 60_000),
    'Delay of the event loop, in milliseconds, beyond which this process rejects requests with 503. 0: never.',
  ),
  ...TRACING_SETTINGS,
  ...CONSOLE_SETTINGS,
  logLevel: withDefault(
    'TIBA_LOG_LEVEL',
    'info',
    logLevel,
    `Lowest severity of the log lines that are written: ${LOG_LEVELS.join(', ')}.`,
  ),
} as const satisfies Record<string, Setting<unknown>>;

type Parsed<S> = S extends Setting<infer T> ? (S extends { readonly fallback: string } ? T : T | null) : never;

/** A setting without a default is null when it is not set. */
export type Settings = { readonly [Key in keyof typeof SETTINGS]: Parsed<(typeof SETTINGS)[Key]> };

/** All faults of the settings at once. */
export class SettingsError extends StartError {
  override readonly name = 'SettingsError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`the settings are incomplete or wrong:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

/** @throws SettingsError with all faults */
export function readSettings(mode: Mode, environment: Environment = process.env): Settings {
  const { settings, faults } = validateSettings(mode, environment);
  if (faults.length > 0) throw new SettingsError(faults);
  return settings;
}

/**
 * The settings and their faults, for a caller that has further faults to report with them. A setting with a fault is
 * null.
 */
export function validateSettings(
  mode: Mode,
  variables: Environment = process.env,
): { readonly settings: Settings; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const environment = { ...variables, ...readSecretFiles(Object.values(SETTINGS), variables, faults) };
  const entries = Object.entries(SETTINGS).map(([key, each]) => [key, readOne(each, environment, faults)]);
  // Each value was parsed by its own setting, which TypeScript cannot follow through entries.
  const settings = Object.fromEntries(entries) as Settings;
  if (mode === 'serve') faults.push(...findMissing(environment));
  if (mode === 'sandbox') faults.push(...findProductionSigns(environment));
  if (isSet(SETTINGS.tokenIssuer, environment) !== isSet(SETTINGS.tokenJwksUrl, environment)) {
    faults.push('TIBA_TOKEN_ISSUER and TIBA_TOKEN_JWKS_URL go together: set both or neither');
  }
  if (settings.secretKey !== null && settings.previousSecretKey?.equals(settings.secretKey) === true) {
    faults.push('TIBA_SECRET_KEY_PREVIOUS must be the key that TIBA_SECRET_KEY replaces: both are the same');
  }
  faults.push(...faultsOfTls(settings));
  if (settings.snapPort !== null && isSet(SETTINGS.tokenIssuer, environment)) {
    faults.push('TIBA_SNAP_PORT needs the built-in issuer, which issues the tokens of SNAP: unset TIBA_TOKEN_ISSUER');
  }
  faults.push(...findRetentionFaults(settings), ...findPeopleFaults(settings));
  return { settings, faults };
}

/** What looks like a setting and is none, such as a misspelled one. */
export const unknownVariables = (environment: Environment = process.env): string[] =>
  findUnknownVariables(Object.values(SETTINGS), environment);

function readOne(each: Setting<unknown>, environment: Environment, faults: string[]): unknown {
  // An empty variable counts as not set, because many ways of setting variables cannot leave one out.
  const value = environment[each.name] || each.fallback;
  if (value === undefined) return null;
  try {
    return each.parse(value);
  } catch (error) {
    faults.push(`${each.name} must be ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

/** A setting with a wrong value is not missing: its own fault describes it. */
function findMissing(environment: Environment): string[] {
  const faults: string[] = [];
  const require = (alternatives: readonly Setting<unknown>[], fault: string): void => {
    if (!alternatives.some((each) => isSet(each, environment))) faults.push(fault);
  };
  require([
    SETTINGS.databaseUrl,
    SETTINGS.dataDirectory,
  ], 'DATABASE_URL is missing: the URL of PostgreSQL (or set TIBA_DATA_DIR to use the embedded one)');
  require([SETTINGS.publicUrl], 'TIBA_PUBLIC_URL is missing: the URL at which clients reach this service');
  require([SETTINGS.secretKey], `TIBA_SECRET_KEY is missing: generate one with: ${GENERATE_SECRET_KEY}`);
  require([SETTINGS.railsFile], 'TIBA_RAILS_FILE is missing: the path of the file with the connections to banks');
  return faults;
}

/** The sandbox invents transactions and banks: they must never mix with real money. */
function findProductionSigns(environment: Environment): string[] {
  const signs = [
    ...(environment['NODE_ENV']?.trim().toLowerCase() === 'production' ? ['NODE_ENV=production'] : []),
    // DATABASE_URL alone may be the sandbox's own database; next to one of these it is production's.
    ...[SETTINGS.railsFile, SETTINGS.secretKey, SETTINGS.publicUrl, SETTINGS.processes, SETTINGS.staging]
      .filter((each) => isSet(each, environment))
      .map(({ name }) => name),
  ];
  return signs.map((sign) => `${sign} belongs to production, where the sandbox must not run: use npm run serve`);
}
