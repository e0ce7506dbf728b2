import type { Query } from './database.ts';
import { notify, recordsOf } from './notification-payloads.ts';
import type { NotificationHandler } from './notifications.ts';

/** The key of a callback endpoint. */
export interface EndpointKey {
  readonly clientId: string;
  readonly endpointId: string;
}

/** Notifies all processes that endpoints have deliveries due. */
export const DUE_CHANNEL = 'tiba_callbacks_due';

/** Wakes the dispatchers of all processes for these endpoints when the database transaction commits. */
export const notifyDue = (query: Query, endpoints: readonly EndpointKey[]): Promise<void> =>
  notify(
    query,
    DUE_CHANNEL,
    endpoints.map(({ clientId, endpointId }) => [clientId, endpointId]),
  );

export interface DueNotices extends NotificationHandler {
  /** Calls `onDue` for each of these endpoints. There is one subscriber, which never unsubscribes. */
  subscribe(onDue: (endpoint: EndpointKey) => void): void;
}

export function createDueNotices(): DueNotices {
  let wake: (endpoint: EndpointKey) => void = () => {};
  return {
    subscribe(onDue) {
      wake = onDue;
    },
    onNotification(payload) {
      for (const [clientId = '', endpointId = ''] of recordsOf(payload)) wake({ clientId, endpointId });
    },
    // The subscriber looks at the outbox each second, and finds what a lost notification named.
    onConnected() {},
  };
}
