import type { Query } from './database.ts';

/** Which of a client's endpoints. */
export interface EndpointKey {
  readonly clientId: string;
  readonly endpointId: string;
}

/** graphile-worker's name for the task that delivers what is due at one endpoint. */
export const DELIVER_TASK = 'deliver_callbacks';

/**
 * Wakes somebody to deliver what is due at the endpoints of this table, as soon as the database transaction is committed.
 * One job for each client, however much is due at however many endpoints: what is owed stands in `callback_deliveries`, a
 * job only says where it is time to look. Where one is waiting already, its list grows (graphile-worker joins arrays).
 */
export const selectDeliveryJobs = (endpoints: string): string =>
  `select graphile_worker.add_job('${DELIVER_TASK}', json_agg(json_build_object('client_id', client_id, 'endpoint_id', endpoint_id)),
                                  job_key => 'due ' || client_id)
     from ${endpoints}
    group by client_id order by client_id`;

export async function addDeliveryJob(query: Query, { clientId, endpointId }: EndpointKey): Promise<void> {
  await query(selectDeliveryJobs('(values ($1::text, $2::text)) as due (client_id, endpoint_id)'), [
    clientId,
    endpointId,
  ]);
}

/** The endpoints that a job is about. */
export function endpointsOfJob(payload: unknown): EndpointKey[] {
  // Jobs of this name are made above and nowhere else.
  const endpoints = payload as readonly { readonly client_id: string; readonly endpoint_id: string }[];
  return endpoints.map(({ client_id: clientId, endpoint_id: endpointId }) => ({ clientId, endpointId }));
}
