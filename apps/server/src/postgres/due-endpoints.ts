import { randomBytes } from 'node:crypto';
import type { Query } from './database.ts';
import { FIELD_SEPARATOR, type Notifications, notify, recordsOf } from './notification-payloads.ts';
import type { NotificationHandler } from './notifications.ts';

/** The key of a callback endpoint. */
export interface EndpointKey {
  readonly clientId: string;
  readonly endpointId: string;
}

/** Endpoints have deliveries due. Every process gets it, and the one that sent it claims them. */
export const DUE_CHANNEL = 'tiba_callbacks_due';

/** Names this process in its notifications. */
const THIS_PROCESS = randomBytes(6).toString('base64url');

/** They wake the dispatcher of this process for these endpoints. */
export const dueNotifications = (endpoints: readonly EndpointKey[]): Notifications => ({
  channel: DUE_CHANNEL,
  records: endpoints.map(({ clientId, endpointId }) => [clientId, endpointId, THIS_PROCESS].join(FIELD_SEPARATOR)),
});

/** Sends them when the database transaction commits. */
export const notifyDue = (query: Query, endpoints: readonly EndpointKey[]): Promise<void> =>
  notify(query, [dueNotifications(endpoints)]);

export interface DueNotices extends NotificationHandler {
  /** Calls `onDue` for each of these endpoints. There is one subscriber, which never unsubscribes. */
  subscribe(onDue: (endpoint: EndpointKey) => void): void;
}

/**
 * What the other processes have made due is left to them: if all claimed, all but one would find nothing. They look at
 * the outbox each second, and claim what a process leaves that has too much to do or has ended.
 */
export function createDueNotices(thisProcess = THIS_PROCESS): DueNotices {
  let wake: (endpoint: EndpointKey) => void = () => {};
  return {
    subscribe(onDue) {
      wake = onDue;
    },
    onNotification(payload) {
      // All claim where no sender is named.
      for (const [clientId = '', endpointId = '', sender = thisProcess] of recordsOf(payload)) {
        if (sender === thisProcess) wake({ clientId, endpointId });
      }
    },
    // The look each second finds what a lost notification named.
    onConnected() {},
  };
}
