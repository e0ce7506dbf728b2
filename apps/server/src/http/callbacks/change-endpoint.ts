import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { ownProperty } from '../../lib/own-property.ts';
import * as endpoints from '../../postgres/callback-endpoints.ts';
import { sendSuccess } from '../envelope.ts';
import { invalidRequest } from '../query-parameters.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import {
  EndpointSchema,
  endpointInPath,
  endpointInPathSchema,
  endpointToJson,
  Kinds,
  readDisabled,
  readKinds,
  readUrl,
  requireEndpoint,
  Url,
} from './endpoint-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

const MESSAGE: BilingualText = { en: 'Callback endpoint changed', id: 'Endpoint callback diubah' };

const schema = {
  ...callbackOperation,
  operationId: 'changeCallbackEndpoint',
  summary: 'Change, disable or enable a callback endpoint',
  description:
    'Omitted fields stay unchanged. Enabling an endpoint clears its failures and sends its pending deliveries at ' +
    'once. Events that happened while it was disabled are only sent when you replay them.',
  params: endpointInPathSchema,
  body: Type.Object(
    {
      url: Type.Optional(Url),
      kinds: Type.Optional(Kinds),
      disabled: Type.Optional(
        Type.Boolean({ description: 'true: send nothing. false: send callbacks.', examples: [false] }),
      ),
    },
    { title: 'CallbackEndpointChange' },
  ),
  response: {
    200: successResponse(EndpointSchema, MESSAGE, 'The endpoint after the change.'),
    ...errorResponses([
      'INVALID_FORMAT',
      'INVALID_REQUEST',
      'ENDPOINT_NOT_FOUND',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};

export function changeEndpoint(app: FastifyInstance, { authorize, database, validateUrl }: CallbackDependencies): void {
  const onRequest = [authorize(manageCallbacks), requireJson];

  app.patch('/api/v1/callback-endpoints/:endpoint_id', { onRequest, schema }, async (request, reply) => {
    const key = endpointInPath(request);
    const body = jsonObject(request.body);
    const [url, kinds, disabled] = ['url', 'kinds', 'disabled'].map((name) => ownProperty(body, name));
    if (url === undefined && kinds === undefined && disabled === undefined) {
      throw invalidRequest({
        en: 'give at least one of url, kinds, disabled',
        id: 'berikan paling sedikit salah satu dari url, kinds, disabled',
      });
    }
    const changes: endpoints.EndpointChanges = {
      ...(kinds === undefined ? {} : { kinds: readKinds(kinds) }),
      ...(disabled === undefined ? {} : { disabled: readDisabled(disabled) }),
      ...(url === undefined ? {} : { url: await readUrl(request, url, validateUrl) }),
    };
    const endpoint = requireEndpoint(await endpoints.changeEndpoint(database, key, changes));
    const data = JSON.stringify(endpointToJson(endpoint));
    return sendSuccess(reply, MESSAGE, data);
  });
}
