import type { Log } from '../../apps/server/src/observability/log.ts';
import { createDueNotices, DUE_CHANNEL, type DueNotices } from '../../apps/server/src/postgres/due-endpoints.ts';
import { listen, type Notifications } from '../../apps/server/src/postgres/notifications.ts';
import type { PostgresConnection } from '../../apps/server/src/postgres/primary-client.ts';

/** What a process hears of endpoints with deliveries due, on a connection of its own, without the rest of a service. */
export function listenForDue(
  connection: PostgresConnection,
  log: Log,
): { readonly dueNotices: DueNotices; readonly listening: Promise<Notifications> } {
  const dueNotices = createDueNotices();
  return {
    dueNotices,
    listening: listen({ connection, channels: {}, handlers: { [DUE_CHANNEL]: dueNotices }, log }),
  };
}
