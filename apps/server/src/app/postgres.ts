import packageJson from '../../../../package.json' with { type: 'json' };
import { type ClientLimits, type Clients, createClients } from '../auth/clients.ts';
import { openDataKey, startKeyReplacement, useInstallationKey } from '../auth/secret-key.ts';
import { createSeal, type Keyring, type Seal } from '../auth/secrets.ts';
import { createFirstSigningKey, createSigningKeys, type SigningKeys } from '../auth/signing-keys.ts';
import type { Settings } from '../config/config.ts';
import { type BankFindingNotices, createBankFindingNotices, FINDINGS_CHANNEL } from '../postgres/bank-findings.ts';
import { type Database, type HangingNodes, openDatabase } from '../postgres/database.ts';
import { isDistributed } from '../postgres/distributed/distribution.ts';
import { watchHangingNodes } from '../postgres/distributed/hanging-nodes.ts';
import { createDueNotices, DUE_CHANNEL, type DueNotices } from '../postgres/due-endpoints.ts';
import { createNotificationProof, keepProving, requireNotifications } from '../postgres/notification-proof.ts';
import { listen, type Notifications } from '../postgres/notifications.ts';
import { prepareDatabase } from '../postgres/prepare-database.ts';
import { type ProcessRegistry, startProcessRegistry } from '../postgres/process-registry.ts';
import { CLIENTS_CHANNEL, RESTORES_CHANNEL, SIGNING_KEYS_CHANNEL } from '../postgres/reload-channels.ts';
import { CHANGES_CHANNEL, createTransactionChanges, type TransactionChanges } from '../postgres/transaction-changes.ts';
import { createLatestRestore, type LatestRestore } from '../transactions/latest-restore.ts';
import type { AppContext } from './app-context.ts';

/** PostgreSQL, and the data that is cached from it in memory. */
export interface PostgresServices {
  readonly database: Database;
  /** Status look-ups have their own connection pool, so that a feed cannot delay a status check. */
  readonly lookUpDatabase: Database;
  /** Callbacks and validations have their own pool too, so that a backlog cannot starve the feed or the API. */
  readonly deliveryDatabase: Database;
  readonly seal: Seal;
  /** Keys of account hashes and list cursors are derived from it. */
  readonly dataKey: Buffer;
  readonly clients: Clients;
  readonly keys: SigningKeys;
  readonly transactionChanges: TransactionChanges;
  readonly bankFindingNotices: BankFindingNotices;
  readonly dueNotices: DueNotices;
  readonly latestRestore: LatestRestore;
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
/** Beside those of the setting, opened only when a node of a distributed database hangs. */
const NODE_CHECK_CONNECTIONS = 2;

export async function openPostgresServices(context: AppContext): Promise<PostgresServices> {
  const { options, onClose } = context;
  const { settings, connection } = options;
  const { log } = options.logging;
  const reservedConnections = LOOK_UP_CONNECTIONS + DELIVERY_CONNECTIONS + LISTENING_CONNECTIONS;
  const distributed = await prepare(context);
  const hangingNodes = distributed ? openHangingNodes(context) : undefined;
  const open = (connectionsMax: number): Database => ({
    ...openDatabase({ connection, connectionsMax, log, distributed }),
    hangingNodes,
  });
  const database = open(settings.databaseConnections - reservedConnections);
  onClose('database', () => database.close());
  const lookUpDatabase = open(LOOK_UP_CONNECTIONS);
  onClose('look-up database', () => lookUpDatabase.close());
  const deliveryDatabase = open(DELIVERY_CONNECTIONS);
  onClose('delivery database', () => deliveryDatabase.close());

  // Uses the look-up pool, so that clients can be authenticated while the other pools are exhausted.
  const clients = createClients(lookUpDatabase, defaultLimits(settings));
  const seal = createSeal(settings.secretKey, settings.previousSecretKey);
  const dataKey = await openDataKey(database, seal);
  const keys = createSigningKeys({ database, seal, tokenLifetimeMaxSeconds: TOKEN_LIFETIME_MAX_SECONDS });
  await keys.reload();
  if (!keys.canSign()) await createFirstSigningKey(database, seal);
  const transactionChanges = createTransactionChanges();
  const bankFindingNotices = createBankFindingNotices();
  const dueNotices = createDueNotices();
  const latestRestore = createLatestRestore(database);
  const proof = createNotificationProof(database);
  const notifications = await listen({
    connection,
    channels: {
      [CLIENTS_CHANNEL]: clients.reload,
      [SIGNING_KEYS_CHANNEL]: keys.reload,
      [RESTORES_CHANNEL]: latestRestore.reload,
    },
    handlers: {
      [CHANGES_CHANNEL]: transactionChanges,
      [FINDINGS_CHANNEL]: bankFindingNotices,
      [DUE_CHANNEL]: dueNotices,
      [proof.channel]: proof.handler,
    },
    ...options.notifications,
    log,
  });
  onClose('notifications', () => notifications.close());
  await requireNotifications(proof);
  onClose('proof of notifications', keepProving(proof, notifications, log).stop);
  const processes = await joinProcesses(context, { database, lookUpDatabase, seal });
  return {
    database,
    lookUpDatabase,
    deliveryDatabase,
    seal,
    dataKey,
    clients,
    keys,
    transactionChanges,
    bankFindingNotices,
    dueNotices,
    latestRestore,
    notifications,
    processes,
    now: processes.databaseNow,
  };
}

function openHangingNodes({ options: { connection, logging }, onClose }: AppContext): HangingNodes {
  const { log } = logging;
  const database = openDatabase({ connection, connectionsMax: NODE_CHECK_CONNECTIONS, log });
  const hangingNodes = watchHangingNodes(database, log);
  onClose('checks of nodes', () => hangingNodes.close());
  return hangingNodes;
}

/** Prepares the database, and returns whether it is a distributed one. */
async function prepare({ options }: AppContext): Promise<boolean> {
  const { settings, connection, environment } = options;
  const { log } = options.logging;
  const migrates = environment === 'sandbox' || settings.databaseUrl === null || settings.migrate;
  const database = openDatabase({ connection, connectionsMax: 1, log });
  try {
    await prepareDatabase(database, {
      environment,
      // The sandbox and the embedded PostgreSQL have one process only; the parent of several has migrated.
      migrate: options.parent === undefined && migrates,
      onBlocked: () => log.warn('other transactions hold tables that are to be migrated; will retry'),
    });
    const distributed = await isDistributed(database);
    if (distributed) log.info('the tables of clients are distributed over several nodes');
    return distributed;
  } finally {
    await database.close();
  }
}

/** Of clients without limits of their own. */
export const defaultLimits = (settings: Settings): ClientLimits => ({
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

/** Registers this process, which seals secrets with the key that all live processes have. */
async function joinProcesses(
  { options, metrics, onClose }: AppContext,
  {
    database,
    lookUpDatabase,
    seal,
  }: Pick<PostgresServices, 'database' | 'lookUpDatabase'> & { readonly seal: Keyring },
): Promise<ProcessRegistry> {
  const { log } = options.logging;
  const processes = await startProcessRegistry({
    database: lookUpDatabase,
    version: packageJson.version,
    secretKeyId: seal.currentKeyId,
    log,
    metrics,
    wallClock: options.wallClock ?? Date.now,
  });
  onClose('process registry', () => processes.close());
  // Another process may have replaced the key since it was read, while this one was not registered.
  await useInstallationKey(database, seal);
  if (seal.keyIds.length > 1) {
    onClose('replacement of the secret key', startKeyReplacement({ database, keyring: seal, log, metrics }).stop);
  }
  return processes;
}
