import { Type } from 'typebox';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { DISABLED_REASONS } from '../../../postgres/callback-endpoints.ts';
import { EndpointId, Kinds, Secret, Url } from '../../callbacks/endpoint-resource.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';
import { actionSchema } from '../action-schemas.ts';
import { clientIdSchema } from './client-resource.ts';

/** The operations on callback endpoints of any client, as the description of the API has them. */

export const MESSAGES = {
  found: 'Callback endpoints found',
  registered: 'Callback endpoint registered',
  changed: 'Callback endpoint changed',
  rotated: 'Secret rotated',
} as const;

const endpointFields = {
  client_id: clientIdSchema,
  endpoint_id: EndpointId,
  origin: Type.String({
    description: 'Scheme, host and port of its URL. The rest may have keys of the client.',
    examples: ['https://callbacks.example.com'],
  }),
  kinds: Kinds,
  status: Type.Enum(['enabled', 'disabled'], { title: 'EndpointStatus' }),
  disabled_reason: nullable(Type.Enum([...DISABLED_REASONS], { title: 'DisabledReason' }), 'null while enabled.'),
  disabled_at: nullable(Timestamp, 'null while enabled.'),
  failing_since: nullable(Timestamp, 'The first failure since the last successful delivery.'),
  created_at: Timestamp,
};

const EndpointSchema = Type.Object(endpointFields, { title: 'ClientCallbackEndpoint', additionalProperties: false });

const common = { tag: 'Clients', scope: 'operator:write', mayBeProposed: true } as const;
const ofClient = { client_id: clientIdSchema };
const ofEndpoint = { ...ofClient, endpoint_id: EndpointId };

export const listEndpointsSchema = {
  tags: ['Clients'],
  security: accessToken('operator:read'),
  operationId: 'listClientCallbackEndpoints',
  summary: 'List the callback endpoints of a client',
  description: 'All of them, the oldest first.',
  params: Type.Object(ofClient),
  response: {
    200: successResponse(
      Type.Object(
        { endpoints: Type.Array(EndpointSchema) },
        { title: 'ClientCallbackEndpointList', additionalProperties: false },
      ),
      englishOnly(MESSAGES.found),
      'The endpoints.',
    ),
    ...errorResponses(['NOT_FOUND']),
  },
};

export const registerEndpointSchema = actionSchema({
  ...common,
  operationId: 'registerClientCallbackEndpoint',
  summary: 'Register a callback endpoint of a client',
  description:
    'As the client itself can. The answer has the secret that signs its callbacks, which is not shown again. It gets ' +
    'events from now on: those in `kinds`, or all disbursement events where it is left out.',
  message: MESSAGES.registered,
  params: ofClient,
  body: { url: Url, kinds: Type.Optional(Kinds) },
  title: 'RegisterClientCallbackEndpointRequest',
  data: Type.Object(
    { ...endpointFields, secret: Secret },
    { title: 'RegisteredClientCallbackEndpoint', additionalProperties: false },
  ),
  errors: ['NOT_FOUND', 'ENDPOINT_LIMIT_REACHED'],
});

export const changeEndpointSchema = actionSchema({
  ...common,
  operationId: 'changeClientCallbackEndpoint',
  summary: 'Change, disable or enable a callback endpoint of a client',
  description:
    'What is left out stays as it is. Enabling it clears its failures and sends what is pending at once; events of ' +
    'the time when it was disabled need a replay.',
  message: MESSAGES.changed,
  params: ofEndpoint,
  body: {
    url: Type.Optional(Url),
    kinds: Type.Optional(Kinds),
    disabled: Type.Optional(Type.Boolean({ description: 'true: send nothing. false: send callbacks.' })),
  },
  title: 'ChangeClientCallbackEndpointRequest',
  data: EndpointSchema,
  errors: ['NOT_FOUND', 'ENDPOINT_NOT_FOUND'],
});

export const rotateEndpointSecretSchema = actionSchema({
  ...common,
  operationId: 'rotateEndpointSecret',
  summary: 'Rotate the secret that signs the callbacks of an endpoint',
  description:
    'The answer has the new secret, which is not shown again. For 24 hours the former one signs as well, so that the ' +
    'receiver can verify callbacks during the change.',
  message: MESSAGES.rotated,
  params: ofEndpoint,
  body: {},
  title: 'RotateClientCallbackSecretRequest',
  data: Type.Object(
    { endpoint_id: EndpointId, secret: Secret, former_secret_until: Timestamp },
    { title: 'RotatedClientCallbackSecret', additionalProperties: false },
  ),
  errors: ['NOT_FOUND', 'ENDPOINT_NOT_FOUND'],
});
