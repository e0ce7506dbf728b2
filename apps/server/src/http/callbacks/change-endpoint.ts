import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { ownProperty } from '../../lib/own-property.ts';
import * as endpoints from '../../postgres/callback-endpoints.ts';
import { sendSuccess } from '../envelope.ts';
import { invalidRequest } from '../query-parameters.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { readDisabled, readKinds, readUrl } from './endpoint-fields.ts';
import { endpointView } from './endpoint-json.ts';
import { endpointInPath, found } from './endpoint-path.ts';
import { EndpointSchema, endpointInPathSchema, Kinds, onCallbacks, Url } from './endpoint-schema.ts';

const schema = {
  ...onCallbacks,
  operationId: 'changeCallbackEndpoint',
  summary: 'Change, disable or enable a callback endpoint',
  description:
    'What is left out stays as it is. Enabled again, it begins anew, and what is pending for it is sent at once; what happened while it was disabled is not, unless it is replayed.',
  params: endpointInPathSchema,
  body: Type.Object({
    url: Type.Optional(Url),
    kinds: Type.Optional(Kinds),
    disabled: Type.Optional(Type.Boolean({ description: 'true: send nothing. false: send again.' })),
  }),
  response: {
    200: successResponse(EndpointSchema, 'Callback endpoint changed', 'The endpoint as it is now.'),
    ...errorResponses([
      'INVALID_FORMAT',
      'INVALID_REQUEST',
      'ENDPOINT_NOT_FOUND',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};

export function changeEndpoint(app: FastifyInstance, { authorize, database, judge }: CallbackDependencies): void {
  const onRequest = [authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' }), requireJson];

  app.patch('/api/v1/callback-endpoints/:endpoint_id', { onRequest, schema }, async (request, reply) => {
    const key = endpointInPath(request);
    const body = jsonObject(request.body);
    const [url, kinds, disabled] = ['url', 'kinds', 'disabled'].map((name) => ownProperty(body, name));
    if (url === undefined && kinds === undefined && disabled === undefined) {
      throw invalidRequest('give at least one of url, kinds, disabled');
    }
    const changes: endpoints.EndpointChanges = {
      ...(kinds === undefined ? {} : { kinds: readKinds(kinds) }),
      ...(disabled === undefined ? {} : { disabled: readDisabled(disabled) }),
      ...(url === undefined ? {} : { url: await readUrl(url, judge) }),
    };
    const endpoint = found(await endpoints.changeEndpoint(database, key, changes));
    const data = JSON.stringify(endpointView(endpoint));
    return sendSuccess(reply, 'Callback endpoint changed', data);
  });
}
