import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { createSocketTracker } from './socket-tracker.ts';

export interface Notifications {
  /**
   * True while everything that was committed up to `trustMs` ago is known to have been heard of. False when
   * PostgreSQL is out of reach: what is kept in memory may then be out of date.
   */
  isCurrent(): boolean;
  /**
   * The same, but it waits a moment for word from PostgreSQL: a process that was only busy shall not turn callers away.
   */
  waitUntilCurrent(): Promise<boolean>;
  close(): Promise<void>;
}

export interface NotificationsOptions {
  readonly connection: pg.ClientConfig;
  /**
   * What to do for each channel (lower-case names), also while it is being done (`oneAtATime`). Each is also called once
   * after every new connection, because what happened in between was not heard. When one fails, the connection is made
   * anew.
   */
  readonly channels: Readonly<Record<string, () => Promise<void>>>;
  /** For channels whose payload says what happened. */
  readonly handlers?: Readonly<Record<string, NotificationHandler>>;
  /** For how long what was heard is taken for all there is. */
  readonly staleAfterMs?: number;
  readonly log: Log;
}

export interface NotificationHandler {
  onNotification(payload: string): void;
  /** After a new connection: some may have been missed. */
  onConnected(): void;
}

/** A change is out in the world within a second (docs/contract.md 5: half of it is for the way. */
const TRUST_MS = 1_000;
const HEARTBEAT_MS = 250;
/** PostgreSQL answers a heartbeat within this, or it is not well. */
const PATIENCE_MS = 500;
const RECONNECT_MS = 100;
const HEARTBEAT_TIMEOUT_MS = 1_000;

/** One connection that listens (LISTEN/NOTIFY), however many wait for news. Resolves after the first full reading. */
export async function listen({
  connection,
  channels,
  handlers = {},
  staleAfterMs = TRUST_MS,
  log,
}: NotificationsOptions): Promise<Notifications> {
  const sockets = createSocketTracker();
  const readings = new Map(Object.entries(channels));
  let heardUpToMs = Number.NEGATIVE_INFINITY;
  let closing = false;
  let client: pg.Client | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let reconnect: NodeJS.Timeout | undefined;
  let waiting: PromiseWithResolvers<boolean> | undefined;

  const isCurrent = (): boolean => performance.now() - heardUpToMs <= staleAfterMs;

  function heard(upToMs: number): void {
    heardUpToMs = upToMs;
    if (isCurrent()) waiting?.resolve(true);
  }

  async function connect(): Promise<void> {
    const opened = new pg.Client({
      ...connection,
      stream: sockets.stream,
      application_name: 'tiba notifications',
      connectionTimeoutMillis: HEARTBEAT_TIMEOUT_MS,
      query_timeout: HEARTBEAT_TIMEOUT_MS,
      keepAlive: true,
    });
    // pg needs a listener from the start; until the connection stands, connecting itself reports what goes wrong.
    opened.on('error', () => lost(opened));
    opened.on('end', () => lost(opened));
    const unread = new Set<Promise<void>>();
    opened.on('notification', ({ channel, payload = '' }) => {
      if (Object.hasOwn(handlers, channel)) {
        handlers[channel]?.onNotification(payload);
        return;
      }
      const reading = readings.get(channel)?.();
      if (reading === undefined) return;
      unread.add(reading);
      reading.then(
        () => unread.delete(reading),
        (error: unknown) => {
          log.error({ err: error, channel }, 'a change could not be read');
          lost(opened);
        },
      );
    });
    try {
      await opened.connect();
      for (const channel of [...readings.keys(), ...Object.keys(handlers)]) await opened.query(`listen ${channel}`);
      const startedMs = performance.now();
      await Promise.all([...readings.values()].map((read) => read()));
      if (closing) throw new Error('closed while connecting');
      heard(startedMs);
      for (const { onConnected } of Object.values(handlers)) onConnected();
    } catch (error) {
      opened.end().catch(() => {});
      throw error;
    }
    client = opened;
    beat(opened, unread);
  }

  // PostgreSQL delivers what a connection should hear before it answers that connection's next statement. Until what was
  // heard has been read as well, it is not known.
  function beat(current: pg.Client, unread: ReadonlySet<Promise<void>>): void {
    const ask = async (): Promise<void> => {
      const askedMs = performance.now();
      await current.query('select 1');
      await Promise.all(unread);
      heard(askedMs);
      if (current === client && !closing) beat(current, unread);
    };
    heartbeat = setTimeout(() => {
      ask().catch(() => lost(current));
    }, HEARTBEAT_MS).unref();
  }

  function lost(gone: pg.Client): void {
    if (gone !== client || closing) return;
    client = undefined;
    clearTimeout(heartbeat);
    gone.end().catch(() => {});
    log.warn('the connection for notifications was lost; connecting again');
    retry();
  }

  function retry(): void {
    if (closing) return;
    reconnect = setTimeout(() => {
      connect().catch(retry);
    }, RECONNECT_MS).unref();
  }

  await connect();
  return {
    isCurrent,
    waitUntilCurrent() {
      if (isCurrent()) return Promise.resolve(true);
      if (waiting === undefined) {
        const opened = Promise.withResolvers<boolean>();
        const patience = setTimeout(() => opened.resolve(false), PATIENCE_MS);
        waiting = opened;
        void opened.promise.then(() => {
          clearTimeout(patience);
          waiting = undefined;
        });
      }
      return waiting.promise;
    },
    async close() {
      closing = true;
      clearTimeout(heartbeat);
      clearTimeout(reconnect);
      const current = client;
      if (current !== undefined) await sockets.close(() => current.end()).catch(() => {});
    },
  };
}
