import { randomBytes } from 'node:crypto';
import { type Repetition, repeat } from '../lib/repeat.ts';
import { StartError } from '../lib/start-error.ts';
import { within } from '../lib/within.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import type { NotificationHandler, Notifications } from './notifications.ts';

/**
 * A heartbeat proves that PostgreSQL answers, not that its notifications arrive: a pooler in transaction mode answers
 * the one and loses the others. So this process notifies itself from another connection, and waits to hear it.
 */
export interface NotificationProof {
  readonly channel: string;
  readonly handler: NotificationHandler;
  /**
   * Whether a notification arrived. Null when none could be sent, for example while PostgreSQL is read-only, or when
   * the listening connection was replaced meanwhile: what was sent in between is lost, and everything was read again.
   */
  prove(): Promise<boolean | null>;
}

const PROOF_INTERVAL_MS = 10_000;
/** The next proof while notifications do not arrive. */
const RETRY_MS = 1_000;
/** A process that is busy, or a server that is, must not look deaf. */
const PROOF_TIMEOUT_MS = 5_000;

export function createNotificationProof(database: Pick<Database, 'query'>): NotificationProof {
  const channel = `tiba_proof_${randomBytes(6).toString('hex')}`;
  let waiting = Promise.withResolvers<boolean | null>();
  return {
    channel,
    handler: { onNotification: () => waiting.resolve(true), onConnected: () => waiting.resolve(null) },
    async prove() {
      waiting = Promise.withResolvers<boolean | null>();
      const { promise } = waiting;
      try {
        await database.query('select pg_notify($1, $2)', [channel, '']);
      } catch (error) {
        if (error instanceof DatabaseUnavailable) return null;
        throw error;
      }
      // It keeps the process alive: while it starts, after all connections were lost, nothing else does.
      return within(promise, PROOF_TIMEOUT_MS, false);
    },
  };
}

/** @throws StartError when notifications do not arrive */
export async function requireNotifications(proof: NotificationProof): Promise<void> {
  if ((await proof.prove()) !== false) return;
  throw new StartError(
    'notifications of PostgreSQL (LISTEN) do not arrive: if DATABASE_URL leads through a pooler in transaction mode, ' +
      'use its session mode or connect directly',
  );
}

/** Repeats the proof. While it fails, nothing in memory counts as current, and requests are refused. */
export function keepProving(proof: NotificationProof, notifications: Notifications, log: Log): Repetition {
  let retry: NodeJS.Timeout | undefined;
  const proving = repeat(
    PROOF_INTERVAL_MS,
    async () => {
      const hears = await proof.prove();
      if (hears === true) notifications.setHears(true);
      // While PostgreSQL is away or frozen, the proof fails without saying anything about notifications.
      if (hears === false && notifications.isCurrent()) {
        log.error('notifications of postgresql do not arrive; refusing requests until they do');
        notifications.setHears(false);
      }
      if (hears === false || !notifications.hears()) retry = setTimeout(proving.now, RETRY_MS).unref();
    },
    createFailureLog(log, 'proving that notifications of postgresql arrive failed; will retry'),
  );
  return {
    now: proving.now,
    stop() {
      clearTimeout(retry);
      return proving.stop();
    },
  };
}
