import { Type } from 'typebox';
import { CLOCK_SKEW_SECONDS_MAX, FORMER_HOURS, FORMER_HOURS_MAX } from '../../../auth/snap-clients.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { BODY_HASHES, EXTERNAL_ID_RULES } from '../../../postgres/snap-clients.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';
import { actionSchema } from '../action-schemas.ts';
import { clientIdSchema } from './client-resource.ts';

/** The operations on a client's use of the SNAP listener, as the description of the API has them. */

export const MESSAGES = {
  found: 'Client found',
  changed: 'SNAP options changed',
  keyAdded: 'Key added',
  keyRemoved: 'Key removed',
  renewed: 'Secret created',
  ended: 'The use of the SNAP listener has ended',
} as const;

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const partnerId = text('The X-PARTNER-ID of its requests.', 'shop-one');
const externalIds = Type.Enum([...EXTERNAL_ID_RULES], {
  title: 'ExternalIdRule',
  description: 'strict: an X-EXTERNAL-ID is numeric and may be used once a day. off: as often as the client likes.',
});
const bodyHash = Type.Enum([...BODY_HASHES], {
  title: 'SnapBodyHash',
  description: 'minified: the body as sent, or minified. without_whitespace: the body without any whitespace.',
});
const clockSkew = Type.Integer({
  description: 'By how much X-TIMESTAMP may be off.',
  minimum: 1,
  maximum: CLOCK_SKEW_SECONDS_MAX,
  examples: [300],
});
const keyId = text('The beginning of its SHA-256.', '5f0c1d2e3b4a5968');

const SnapSchema = Type.Object(
  {
    client_id: clientIdSchema,
    snap: nullable(
      Type.Object(
        {
          partner_id: partnerId,
          external_ids: externalIds,
          body_hash: bodyHash,
          clock_skew_seconds: clockSkew,
          key_ids: Type.Array(keyId, { description: 'Of its RSA public keys.' }),
          has_secret: Type.Boolean({ description: 'Whether it can sign symmetrically.' }),
          former_secret_until: nullable(Timestamp, 'Until when the former secret is valid too; null without one.'),
        },
        { title: 'SnapOptions', additionalProperties: false },
      ),
      'null for a client that cannot use the SNAP listener.',
    ),
  },
  { title: 'SnapClient', additionalProperties: false },
);

export const readSnapSchema = {
  tags: ['Clients'],
  security: accessToken('operator:read'),
  operationId: 'readClientSnap',
  summary: 'Read how a client uses the SNAP listener',
  description: 'Its options and the IDs of its keys, without the keys and the secret themselves.',
  params: Type.Object({ client_id: clientIdSchema }),
  response: {
    200: successResponse(SnapSchema, englishOnly(MESSAGES.found), 'The options.'),
    ...errorResponses(['NOT_FOUND']),
  },
};

const common = { tag: 'Clients', scope: 'operator:write' } as const;
const params = { client_id: clientIdSchema };
const ofKey = Type.Object(
  { client_id: clientIdSchema, key_id: keyId },
  { title: 'RemovedSnapKey', additionalProperties: false },
);

export const changeSnapSchema = actionSchema({
  ...common,
  operationId: 'changeClientSnap',
  summary: 'Let a client use the SNAP listener, or change how it does',
  description: 'What is left out stays as it is, or gets its default.',
  message: MESSAGES.changed,
  params,
  body: {
    partner_id: Type.Optional(partnerId),
    external_ids: Type.Optional(externalIds),
    body_hash: Type.Optional(bodyHash),
    clock_skew_seconds: Type.Optional(clockSkew),
  },
  title: 'ChangeClientSnapRequest',
  mayBeProposed: true,
  data: SnapSchema,
  errors: ['NOT_FOUND', 'CLIENT_CONFLICT'],
});

export const addKeySchema = actionSchema({
  ...common,
  operationId: 'addClientSnapKey',
  summary: 'Add an RSA public key of a client',
  description: 'Several keys are valid at a time. It is active in all processes within a second.',
  message: MESSAGES.keyAdded,
  params,
  body: {
    public_key: text('PEM (SubjectPublicKeyInfo), RSA of 2048 bits or more.', '-----BEGIN PUBLIC KEY-----\n…'),
  },
  title: 'AddSnapKeyRequest',
  mayBeProposed: true,
  data: Type.Object(
    {
      client_id: clientIdSchema,
      key_id: keyId,
      is_new: Type.Boolean({ description: 'false: the client had this key already.' }),
    },
    { title: 'AddedSnapKey', additionalProperties: false },
  ),
  errors: ['NOT_FOUND', 'CLIENT_CONFLICT'],
});

export const removeKeySchema = actionSchema({
  ...common,
  operationId: 'removeClientSnapKey',
  summary: 'Remove a public key of a client',
  description: 'Its signatures are rejected in all processes within a second.',
  message: MESSAGES.keyRemoved,
  params: { ...params, key_id: keyId },
  body: {},
  title: 'RemoveSnapKeyRequest',
  data: ofKey,
  errors: ['NOT_FOUND'],
});

export const renewSnapSecretSchema = actionSchema({
  ...common,
  operationId: 'renewClientSnapSecret',
  summary: 'Create the secret of symmetric signatures of a client',
  description: 'The answer has it, and it is not shown again.',
  message: MESSAGES.renewed,
  params,
  body: {
    former_hours: Type.Optional(
      Type.Integer({
        description: 'For how many hours the former secret stays valid.',
        minimum: 0,
        maximum: FORMER_HOURS_MAX,
        default: FORMER_HOURS,
        examples: [24],
      }),
    ),
  },
  title: 'RenewSnapSecretRequest',
  mayBeProposed: true,
  data: Type.Object(
    {
      client_id: clientIdSchema,
      snap_secret: text('Shown only in this response.', 'dGliYSBleGFtcGxlLCBub3QgYSBzZWNyZXQ'),
    },
    { title: 'RenewedSnapSecret', additionalProperties: false },
  ),
  errors: ['NOT_FOUND', 'CLIENT_CONFLICT'],
});

export const endSnapSchema = actionSchema({
  ...common,
  operationId: 'endClientSnap',
  summary: "End a client's use of the SNAP listener",
  description: 'Its keys and its secret are deleted.',
  message: MESSAGES.ended,
  params,
  body: {},
  title: 'EndClientSnapRequest',
  data: Type.Object(
    { client_id: clientIdSchema, ended: Type.Boolean({ description: 'false: it could not use it before.' }) },
    { title: 'EndedSnap', additionalProperties: false },
  ),
  errors: ['NOT_FOUND'],
});
