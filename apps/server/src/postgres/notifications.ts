import pg from 'pg';
import type { Log } from '../observability/log.ts';
import type { PostgresConnection } from './primary-client.ts';
import { createSocketTracker, type SocketTracker } from './socket-tracker.ts';

export interface Notifications {
  /**
   * True while this process is known to have read every change that was committed up to `staleAfterMs` ago. False when
   * PostgreSQL is out of reach: the caches in memory may be out of date then.
   */
  isCurrent(): boolean;
  /** Like `isCurrent`, but waits briefly for PostgreSQL: a process that was only busy must not reject requests. */
  waitUntilCurrent(): Promise<boolean>;
  /** True while PostgreSQL answers but writes nothing, as of the last heartbeat: after a failover, or out of space. */
  isReadOnly(): boolean;
  /** Whether notifications arrive, as far as is known. */
  hears(): boolean;
  /** With false, nothing counts as current until it is true again (notification-proof.ts). */
  setHears(hears: boolean): void;
  close(): Promise<void>;
}

export interface NotificationsOptions {
  readonly connection: PostgresConnection;
  /**
   * For each channel (lower-case name), the function that reads what has changed. A notification calls it even while an
   * earlier call still runs (see `lib/single-flight.ts`). Every new connection calls all of them once, because
   * notifications between two connections are lost. When one fails, the connection is replaced.
   */
  readonly channels: Readonly<Record<string, () => Promise<void>>>;
  /** For channels whose payload says what has changed. */
  readonly handlers?: Readonly<Record<string, NotificationHandler>>;
  /** How long the caches count as current after the last successful heartbeat began. */
  readonly staleAfterMs?: number;
  readonly log: Log;
}

export interface NotificationHandler {
  onNotification(payload: string): void;
  /** Called after every new connection: notifications may have been lost before it. */
  onConnected(): void;
}

/** A change takes effect within one second (docs/contract.md 5), so older knowledge does not count as current. */
const STALE_AFTER_MS = 1_000;
const HEARTBEAT_MS = 250;
/** PostgreSQL answers a heartbeat within this time unless it is unavailable. */
const WAIT_UNTIL_CURRENT_MS = 500;
const RECONNECT_MS = 100;
const HEARTBEAT_TIMEOUT_MS = 1_000;
const HEARTBEAT_SQL = "select current_setting('transaction_read_only')::boolean as read_only";

/**
 * Listens (LISTEN/NOTIFY) on one connection, however many subscribers there are. Resolves after every channel was read
 * once. After a lost connection it reconnects until it is closed.
 */
export async function listen({
  connection,
  channels,
  handlers = {},
  staleAfterMs = STALE_AFTER_MS,
  log,
}: NotificationsOptions): Promise<Notifications> {
  const listener: Listener = {
    connection,
    channels: new Map(Object.entries(channels)),
    handlers,
    staleAfterMs,
    log,
    sockets: createSocketTracker(),
    currentAtMs: Number.NEGATIVE_INFINITY,
    readOnly: false,
    hears: true,
    closing: false,
    client: undefined,
    heartbeatTimer: undefined,
    reconnectTimer: undefined,
    waiter: undefined,
  };
  await connect(listener);
  return {
    isCurrent: () => isCurrent(listener),
    waitUntilCurrent: () => waitUntilCurrent(listener),
    isReadOnly: () => listener.readOnly,
    hears: () => listener.hears,
    setHears(hears) {
      listener.hears = hears;
    },
    async close() {
      listener.closing = true;
      clearTimeout(listener.heartbeatTimer);
      clearTimeout(listener.reconnectTimer);
      const { client } = listener;
      if (client !== undefined) await listener.sockets.close(() => client.end()).catch(() => {});
    },
  };
}

interface Listener extends Required<Omit<NotificationsOptions, 'channels'>> {
  readonly channels: ReadonlyMap<string, () => Promise<void>>;
  readonly sockets: SocketTracker;
  /** Every change that was committed before this time has been read. On the clock of `performance.now()`. */
  currentAtMs: number;
  readOnly: boolean;
  /** Whether notifications arrive. */
  hears: boolean;
  closing: boolean;
  /** The connection in use; undefined while there is none. */
  client: pg.Client | undefined;
  heartbeatTimer: NodeJS.Timeout | undefined;
  reconnectTimer: NodeJS.Timeout | undefined;
  /** Shared by all callers that wait until the caches are current. */
  waiter: PromiseWithResolvers<boolean> | undefined;
}

const isCurrent = ({ currentAtMs, staleAfterMs, hears }: Listener): boolean =>
  hears && performance.now() - currentAtMs <= staleAfterMs;

function markCurrent(listener: Listener, atMs: number): void {
  listener.currentAtMs = atMs;
  if (isCurrent(listener)) listener.waiter?.resolve(true);
}

function waitUntilCurrent(listener: Listener): Promise<boolean> {
  if (isCurrent(listener)) return Promise.resolve(true);
  if (listener.waiter === undefined) {
    const waiter = Promise.withResolvers<boolean>();
    const timeout = setTimeout(() => waiter.resolve(false), WAIT_UNTIL_CURRENT_MS);
    listener.waiter = waiter;
    void waiter.promise.then(() => {
      clearTimeout(timeout);
      listener.waiter = undefined;
    });
  }
  return listener.waiter.promise;
}

async function connect(listener: Listener): Promise<void> {
  const { channels, handlers } = listener;
  const { Client = pg.Client } = listener.connection;
  const client = new Client({
    ...listener.connection,
    stream: listener.sockets.stream,
    application_name: 'tiba notifications',
    connectionTimeoutMillis: HEARTBEAT_TIMEOUT_MS,
    query_timeout: HEARTBEAT_TIMEOUT_MS,
    keepAlive: true,
  });
  // pg needs an error listener from the start. Until the connection is established, `connect` reports its errors.
  client.on('error', () => onConnectionLost(listener, client));
  client.on('end', () => onConnectionLost(listener, client));
  const pendingReads = new Set<Promise<void>>();
  client.on('notification', (message) => onNotification(listener, client, message, pendingReads));
  try {
    await client.connect();
    for (const channel of [...channels.keys(), ...Object.keys(handlers)]) await client.query(`listen ${channel}`);
    const startedMs = performance.now();
    await Promise.all([...channels.values()].map((read) => read()));
    if (listener.closing) throw new Error('closed while connecting');
    markCurrent(listener, startedMs);
    for (const { onConnected } of Object.values(handlers)) onConnected();
  } catch (error) {
    client.end().catch(() => {});
    throw error;
  }
  listener.client = client;
  scheduleHeartbeat(listener, client, pendingReads);
}

function onNotification(
  listener: Listener,
  client: pg.Client,
  { channel, payload = '' }: pg.Notification,
  pendingReads: Set<Promise<void>>,
): void {
  if (Object.hasOwn(listener.handlers, channel)) {
    listener.handlers[channel]?.onNotification(payload);
    return;
  }
  const read = listener.channels.get(channel)?.();
  if (read === undefined) return;
  pendingReads.add(read);
  read.then(
    () => pendingReads.delete(read),
    (error: unknown) => {
      listener.log.error({ err: error, channel }, 'reading a change after a notification failed; will reconnect');
      onConnectionLost(listener, client);
    },
  );
}

/**
 * PostgreSQL delivers pending notifications to a connection before it answers that connection's next statement. So once
 * the heartbeat is answered and the reads that notifications caused have ended, every earlier change is known.
 */
function scheduleHeartbeat(listener: Listener, client: pg.Client, pendingReads: ReadonlySet<Promise<void>>): void {
  const beat = async (): Promise<void> => {
    const startedMs = performance.now();
    const { rows } = await client.query<{ read_only: boolean }>(HEARTBEAT_SQL);
    await Promise.all(pendingReads);
    listener.readOnly = rows[0]?.read_only === true;
    markCurrent(listener, startedMs);
    if (client === listener.client && !listener.closing) scheduleHeartbeat(listener, client, pendingReads);
  };
  listener.heartbeatTimer = setTimeout(() => {
    beat().catch(() => onConnectionLost(listener, client));
  }, HEARTBEAT_MS).unref();
}

function onConnectionLost(listener: Listener, client: pg.Client): void {
  if (client !== listener.client || listener.closing) return;
  listener.client = undefined;
  clearTimeout(listener.heartbeatTimer);
  client.end().catch(() => {});
  listener.log.warn(
    'postgresql LISTEN connection lost; requests are refused if it stays lost for a second; will reconnect',
  );
  scheduleReconnect(listener);
}

function scheduleReconnect(listener: Listener): void {
  if (listener.closing) return;
  listener.reconnectTimer = setTimeout(() => {
    connect(listener).then(
      () => listener.log.info('postgresql LISTEN connection restored'),
      () => scheduleReconnect(listener),
    );
  }, RECONNECT_MS).unref();
}
