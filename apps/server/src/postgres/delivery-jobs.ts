import type { Query } from './database.ts';

/** The key of a callback endpoint. */
export interface EndpointKey {
  readonly clientId: string;
  readonly endpointId: string;
}

/** The graphile-worker task that delivers what is due at endpoints. */
export const DELIVERY_TASK = 'deliver_callbacks';

/**
 * Wakes a dispatcher for these endpoints when the database transaction commits. It adds one job for each client, for
 * any number of endpoints and deliveries: `callback_outbox` is the outbox, and a job only names endpoints to look at.
 * When a job of the client is already waiting, its list grows (graphile-worker joins arrays).
 */
export async function addDeliveryJobs(query: Query, endpoints: readonly EndpointKey[]): Promise<void> {
  await query(
    ADD_SQL,
    [endpoints.map(({ clientId }) => clientId), endpoints.map(({ endpointId }) => endpointId)],
    'add-delivery-jobs',
  );
}

const ADD_SQL = `
select from (
  select array_agg(('${DELIVERY_TASK}', payload, null, null, null, 'due ' || client_id, null, null)
                     ::graphile_worker.job_spec order by client_id) as specs
    from (select client_id,
                 json_agg(json_build_object('client_id', client_id, 'endpoint_id', endpoint_id)) as payload
            from unnest($1::text[], $2::text[]) as due (client_id, endpoint_id) group by client_id) as jobs
  having count(*) > 0) as added
 -- One call for all of them: each costs half a millisecond.
 cross join lateral graphile_worker.add_jobs(added.specs)`;

/** The endpoints that a job names. */
export function endpointsOfJob(payload: unknown): EndpointKey[] {
  // Only the functions above add jobs of this task.
  const endpoints = payload as readonly { readonly client_id: string; readonly endpoint_id: string }[];
  return endpoints.map(({ client_id: clientId, endpoint_id: endpointId }) => ({ clientId, endpointId }));
}
