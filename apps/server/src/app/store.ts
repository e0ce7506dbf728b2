import { type Clients, createClients } from '../auth/clients.ts';
import { createSeal, type Seal } from '../auth/secrets.ts';
import { createSigningKeys, rotateSigningKeys, type SigningKeys } from '../auth/signing-keys.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { JOB_CONNECTIONS } from '../postgres/job-worker.ts';
import { listen, type Notifications } from '../postgres/notifications.ts';
import { prepareDatabase } from '../postgres/prepare-database.ts';
import { CHANGES_CHANNEL } from '../postgres/transaction-changes.ts';
import { createTransactionChanges, type TransactionChanges } from '../transactions/transaction-changes.ts';
import type { AppContext } from './app-context.ts';

/** PostgreSQL, and what is kept in memory of it. */
export interface Store {
  readonly database: Database;
  /** Look-ups have connections of their own, so that no feed can keep a status check waiting. */
  readonly lookUpDatabase: Database;
  /** So have deliveries: however many endpoints are owed something, a feed is stored and a client answered. */
  readonly deliveryDatabase: Database;
  readonly seal: Seal;
  readonly clients: Clients;
  readonly keys: SigningKeys;
  readonly transactionChanges: TransactionChanges;
  readonly notifications: Notifications;
}

/** A retired signing key verifies for as long as the longest-lived token: the sandbox's. */
export const TOKEN_LIFETIME_MAX_SECONDS = 24 * 60 * 60;

const LOOK_UP_CONNECTIONS = 4;
const DELIVERY_CONNECTIONS = 3;
const LISTENING_CONNECTIONS = 1;

export async function openStore({ options, onClose }: AppContext): Promise<Store> {
  const { settings, connection, environment } = options;
  const { log } = options.logging;
  const reservedConnections = LOOK_UP_CONNECTIONS + DELIVERY_CONNECTIONS + JOB_CONNECTIONS + LISTENING_CONNECTIONS;
  const connectionsMax = settings.databaseConnections - reservedConnections;
  const database = openDatabase({ connection, connectionsMax, log });
  onClose(() => database.close());
  const lookUpDatabase = openDatabase({ connection, connectionsMax: LOOK_UP_CONNECTIONS, log });
  onClose(() => lookUpDatabase.close());
  const deliveryDatabase = openDatabase({ connection, connectionsMax: DELIVERY_CONNECTIONS, log });
  onClose(() => deliveryDatabase.close());
  await prepareDatabase(database, connection, environment);

  // Over the look-ups' connections: whatever fills the others, who is let in is known.
  const clients = createClients(lookUpDatabase, {
    'check-status': settings.checkStatusPerMinute,
    'check-account': settings.checkAccountPerMinute,
    events: settings.eventsPerMinute,
    callbacks: settings.callbacksPerMinute,
    banks: settings.banksPerMinute,
    'account-validations': settings.accountValidationsPerMinute,
    'accounts-per-day': settings.accountsPerDay,
  });
  const seal = createSeal(settings.secretKey);
  const keys = createSigningKeys({ database, seal, tokenLifetimeMaxSeconds: TOKEN_LIFETIME_MAX_SECONDS });
  await keys.reload();
  if (!keys.canSign()) await rotateSigningKeys(database, seal, 'EdDSA');
  const transactionChanges = createTransactionChanges();
  const notifications = await listen({
    connection,
    channels: { tiba_clients: clients.reload, tiba_signing_keys: keys.reload },
    handlers: { [CHANGES_CHANNEL]: transactionChanges },
    ...options.notifications,
    log,
  });
  onClose(() => notifications.close());
  return { database, lookUpDatabase, deliveryDatabase, seal, clients, keys, transactionChanges, notifications };
}
