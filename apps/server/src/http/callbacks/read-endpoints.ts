import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { findEndpoint, listEndpoints } from '../../postgres/callback-endpoints.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import {
  EndpointSchema,
  endpointInPath,
  endpointInPathSchema,
  endpointToJson,
  requireEndpoint,
} from './endpoint-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

const ENDPOINTS_FOUND: BilingualText = { en: 'Callback endpoints found', id: 'Daftar endpoint callback ditemukan' };

const ENDPOINT_FOUND: BilingualText = { en: 'Callback endpoint found', id: 'Endpoint callback ditemukan' };

const listSchema = {
  ...callbackOperation,
  operationId: 'listCallbackEndpoints',
  summary: 'List callback endpoints',
  description: 'Your endpoints, without their secrets.',
  response: {
    200: successResponse(
      Type.Object(
        { endpoints: Type.Array(EndpointSchema) },
        { title: 'CallbackEndpointList', additionalProperties: false },
      ),
      ENDPOINTS_FOUND,
      'All of your endpoints, oldest first.',
    ),
    ...errorResponses([]),
  },
};

const oneSchema = {
  ...callbackOperation,
  operationId: 'getCallbackEndpoint',
  summary: 'Get a callback endpoint',
  description: 'One endpoint, without its secret.',
  params: endpointInPathSchema,
  response: {
    200: successResponse(EndpointSchema, ENDPOINT_FOUND, 'The endpoint.'),
    ...errorResponses(['ENDPOINT_NOT_FOUND']),
  },
};

export function readEndpoints(app: FastifyInstance, { authorize, database }: CallbackDependencies): void {
  const onRequest = authorize(manageCallbacks);

  app.get('/api/v1/callback-endpoints', { onRequest, schema: listSchema }, async (request, reply) => {
    const endpoints = await listEndpoints(database, callerOf(request).client.clientId);
    const data = JSON.stringify({ endpoints: endpoints.map(endpointToJson) });
    return sendSuccess(reply, ENDPOINTS_FOUND, data);
  });

  app.get('/api/v1/callback-endpoints/:endpoint_id', { onRequest, schema: oneSchema }, async (request, reply) => {
    const endpoint = requireEndpoint(await findEndpoint(database, endpointInPath(request)));
    const data = JSON.stringify(endpointToJson(endpoint));
    return sendSuccess(reply, ENDPOINT_FOUND, data);
  });
}
