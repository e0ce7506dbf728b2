import type { Query } from './database.ts';
import type { EndpointKey } from './events.ts';

/** graphile-worker's name for the task that delivers what is due at one endpoint. */
export const DELIVER_TASK = 'deliver_callbacks';

/**
 * Wakes somebody to deliver what is due at the endpoints of this table, as soon as the database transaction is committed.
 * One job per endpoint, however much is due: what is owed stands in `callback_deliveries`, a job only says that it is time
 * to look.
 */
export const selectDeliveryJobs = (endpoints: string): string =>
  `select graphile_worker.add_job('${DELIVER_TASK}', json_build_object('client_id', client_id, 'endpoint_id', endpoint_id),
                                  job_key => 'due ' || client_id || ' ' || endpoint_id)
     from ${endpoints}`;

export async function addDeliveryJob(query: Query, { clientId, endpointId }: EndpointKey): Promise<void> {
  await query(selectDeliveryJobs('(values ($1::text, $2::text)) as due (client_id, endpoint_id)'), [
    clientId,
    endpointId,
  ]);
}

/** The endpoint that a job is about. */
export function endpointOfJob(payload: unknown): EndpointKey {
  // Jobs of this name are made above and nowhere else.
  const { client_id: clientId, endpoint_id: endpointId } = payload as { client_id: string; endpoint_id: string };
  return { clientId, endpointId };
}
