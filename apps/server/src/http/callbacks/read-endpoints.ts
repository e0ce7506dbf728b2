import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { findEndpoint, listEndpoints } from '../../postgres/callback-endpoints.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { endpointView } from './endpoint-json.ts';
import { endpointInPath, found } from './endpoint-path.ts';
import { EndpointSchema, endpointInPathSchema, onCallbacks } from './endpoint-schema.ts';

const listSchema = {
  ...onCallbacks,
  operationId: 'listCallbackEndpoints',
  summary: 'List callback endpoints',
  response: {
    200: successResponse(
      Type.Object({ endpoints: Type.Array(EndpointSchema) }, { additionalProperties: false }),
      'Callback endpoints found',
      'All of yours, the oldest first.',
    ),
    ...errorResponses([]),
  },
};

const oneSchema = {
  ...onCallbacks,
  operationId: 'getCallbackEndpoint',
  summary: 'Look at a callback endpoint',
  params: endpointInPathSchema,
  response: {
    200: successResponse(EndpointSchema, 'Callback endpoint found', 'The endpoint.'),
    ...errorResponses(['ENDPOINT_NOT_FOUND']),
  },
};

export function readEndpoints(app: FastifyInstance, { authorize, database }: CallbackDependencies): void {
  const onRequest = authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' });

  app.get('/api/v1/callback-endpoints', { onRequest, schema: listSchema }, async (request, reply) => {
    const endpoints = await listEndpoints(database, callerOf(request).client.clientId);
    const data = JSON.stringify({ endpoints: endpoints.map(endpointView) });
    return sendSuccess(reply, 'Callback endpoints found', data);
  });

  app.get('/api/v1/callback-endpoints/:endpoint_id', { onRequest, schema: oneSchema }, async (request, reply) => {
    const endpoint = found(await findEndpoint(database, endpointInPath(request)));
    const data = JSON.stringify(endpointView(endpoint));
    return sendSuccess(reply, 'Callback endpoint found', data);
  });
}
