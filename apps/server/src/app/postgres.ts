import packageJson from '../../../../package.json' with { type: 'json' };
import { type ClientLimits, type Clients, createClients } from '../auth/clients.ts';
import { createSeal, type Seal } from '../auth/secrets.ts';
import { createFirstSigningKey, createSigningKeys, type SigningKeys } from '../auth/signing-keys.ts';
import type { Settings } from '../config.ts';
import { type BankFindingNotices, createBankFindingNotices, FINDINGS_CHANNEL } from '../postgres/bank-findings.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { JOB_CONNECTIONS } from '../postgres/job-worker.ts';
import { createNotificationProof, keepProving, requireNotifications } from '../postgres/notification-proof.ts';
import { listen, type Notifications } from '../postgres/notifications.ts';
import { prepareDatabase } from '../postgres/prepare-database.ts';
import { type ProcessRegistry, startProcessRegistry } from '../postgres/process-registry.ts';
import { CHANGES_CHANNEL } from '../postgres/transaction-changes.ts';
import { createTransactionChanges, type TransactionChanges } from '../transactions/transaction-changes.ts';
import type { AppContext } from './app-context.ts';

/** PostgreSQL, and the data that is cached from it in memory. */
export interface PostgresServices {
  readonly database: Database;
  /** Status look-ups have their own connection pool, so that a feed cannot delay a status check. */
  readonly lookUpDatabase: Database;
  /** Callbacks and validations have their own pool too, so that a backlog cannot starve the feed or the API. */
  readonly deliveryDatabase: Database;
  readonly seal: Seal;
  readonly clients: Clients;
  readonly keys: SigningKeys;
  readonly transactionChanges: TransactionChanges;
  readonly bankFindingNotices: BankFindingNotices;
  readonly notifications: Notifications;
  readonly processes: ProcessRegistry;
  /** PostgreSQL's time as this process knows it from the heartbeats: milliseconds since 1970. */
  readonly now: () => number;
}

/** A retired signing key verifies tokens for as long as the longest-lived token is valid: the sandbox's. */
export const TOKEN_LIFETIME_MAX_SECONDS = 24 * 60 * 60;

const LOOK_UP_CONNECTIONS = 4;
const DELIVERY_CONNECTIONS = 3;
const LISTENING_CONNECTIONS = 1;

export async function openPostgresServices({ options, metrics, onClose }: AppContext): Promise<PostgresServices> {
  const { settings, connection, environment, wallClock = Date.now } = options;
  const { log } = options.logging;
  const reservedConnections = LOOK_UP_CONNECTIONS + DELIVERY_CONNECTIONS + JOB_CONNECTIONS + LISTENING_CONNECTIONS;
  const connectionsMax = settings.databaseConnections - reservedConnections;
  const database = openDatabase({ connection, connectionsMax, log });
  onClose('database', () => database.close());
  const lookUpDatabase = openDatabase({ connection, connectionsMax: LOOK_UP_CONNECTIONS, log });
  onClose('look-up database', () => lookUpDatabase.close());
  const deliveryDatabase = openDatabase({ connection, connectionsMax: DELIVERY_CONNECTIONS, log });
  onClose('delivery database', () => deliveryDatabase.close());
  await prepareDatabase(database, connection, {
    environment,
    // The sandbox and the embedded PostgreSQL have one process only; the parent of several has migrated.
    migrate:
      options.parent === undefined && (environment === 'sandbox' || settings.databaseUrl === null || settings.migrate),
    onBlocked: () => log.warn('other transactions hold tables that are to be migrated; will retry'),
  });

  // Uses the look-up pool, so that clients can be authenticated while the other pools are exhausted.
  const clients = createClients(lookUpDatabase, defaultLimits(settings));
  const seal = createSeal(settings.secretKey);
  const keys = createSigningKeys({ database, seal, tokenLifetimeMaxSeconds: TOKEN_LIFETIME_MAX_SECONDS });
  await keys.reload();
  if (!keys.canSign()) await createFirstSigningKey(database, seal);
  const transactionChanges = createTransactionChanges();
  const bankFindingNotices = createBankFindingNotices();
  const proof = createNotificationProof(database);
  const notifications = await listen({
    connection,
    channels: { tiba_clients: clients.reload, tiba_signing_keys: keys.reload },
    handlers: {
      [CHANGES_CHANNEL]: transactionChanges,
      [FINDINGS_CHANNEL]: bankFindingNotices,
      [proof.channel]: proof.handler,
    },
    ...options.notifications,
    log,
  });
  onClose('notifications', () => notifications.close());
  await requireNotifications(proof);
  onClose('proof of notifications', keepProving(proof, notifications, log).stop);
  const processes = await startProcessRegistry({
    database: lookUpDatabase,
    version: packageJson.version,
    log,
    metrics,
    wallClock,
  });
  onClose('process registry', () => processes.close());
  return {
    database,
    lookUpDatabase,
    deliveryDatabase,
    seal,
    clients,
    keys,
    transactionChanges,
    bankFindingNotices,
    notifications,
    processes,
    now: () => wallClock() - processes.clockSkewMs(),
  };
}

/** Of clients without limits of their own. */
const defaultLimits = (settings: Settings): ClientLimits => ({
  'check-status': settings.checkStatusPerMinute,
  'check-account': settings.checkAccountPerMinute,
  events: settings.eventsPerMinute,
  callbacks: settings.callbacksPerMinute,
  banks: settings.banksPerMinute,
  'account-validations': settings.accountValidationsPerMinute,
  transactions: settings.transactionsPerMinute,
  'account-checks': settings.accountChecksPerMinute,
  'accounts-per-day': settings.accountsPerDay,
});
