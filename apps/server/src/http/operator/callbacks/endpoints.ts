import type { FastifyInstance } from 'fastify';
import {
  type CallbackEndpoint,
  listUnhealthyEndpoints,
  UNHEALTHY_STATES,
} from '../../../postgres/callback-endpoints.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Authorize } from '../../authorize.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { listLimit, oneOf, searchParameters } from '../../query-parameters.ts';
import { unhealthyEndpointsSchema } from '../list-schemas.ts';

/** Lists the failing and the disabled callback endpoints of all clients. */
export function listCallbackEndpoints(app: FastifyInstance, authorize: Authorize, database: Database): void {
  const onRequest = authorize({ scope: 'operator:read' });

  app.get(
    '/operator/v1/callback-endpoints',
    { onRequest, schema: unhealthyEndpointsSchema },
    async (request, reply) => {
      const parameters = searchParameters(request.originalUrl, ['state', 'limit']);
      const state = oneOf(parameters.state, UNHEALTHY_STATES, 'state');
      const limit = listLimit(parameters.limit);
      const found = await listUnhealthyEndpoints(database, state, limit + 1);
      const data = JSON.stringify({
        endpoints: found.slice(0, limit).map(endpointJson),
        has_more: found.length > limit,
      });
      return sendOperatorSuccess(reply, 'Callback endpoints found', data);
    },
  );
}

const endpointJson = (endpoint: CallbackEndpoint): Record<string, unknown> => ({
  client_id: endpoint.clientId,
  endpoint_id: endpoint.endpointId,
  // The origin alone: clients put keys of their own into paths and queries, which the operator must not see.
  origin: new URL(endpoint.url).origin,
  status: endpoint.disabledAt === null ? 'failing' : 'disabled',
  disabled_reason: endpoint.disabledReason,
  disabled_at: endpoint.disabledAt,
  failing_since: endpoint.failingSince,
  created_at: endpoint.createdAt,
});
