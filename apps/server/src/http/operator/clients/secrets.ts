import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { addSecret, replaceSecrets } from '../../../auth/client-credentials.ts';
import { hashSecret } from '../../../auth/secrets.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import {
  type ClientSecret,
  findClientSecrets,
  retireClientSecret,
  secretIdOf,
} from '../../../postgres/client-secrets.ts';
import type { Database } from '../../../postgres/database.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { ApiError } from '../../errors.ts';
import { invalidRequest } from '../../query-parameters.ts';
import { requireJson } from '../../request-body.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';
import { fieldsOf, reasonOf } from '../action-request.ts';
import { actionSchema } from '../action-schemas.ts';
import type { GuardedOperation } from '../four-eyes/guarded-operation.ts';
import {
  changeOfClient,
  clientIdSchema,
  clientInPath,
  getClient,
  type ManagedChange,
  noClient,
} from './client-resource.ts';
import type { ClientsDependencies } from './clients.ts';
import { assertMayGive } from './given-scopes.ts';

/** The secrets with which a client logs in: one, or two while one replaces the other. */
export function clientSecrets(app: FastifyInstance, { authorize, database, fourEyes }: ClientsDependencies): void {
  const add = fourEyes.guard(secretChange('client add-secret', addSecret));
  const replace = fourEyes.guard(secretChange('client new-secret', replaceSecrets));
  const retire = fourEyes.guard(secretRetire);
  const write = [authorize({ scope: 'operator:write' }), requireJson];

  app.get(
    '/operator/v1/clients/:client_id/secrets',
    { onRequest: authorize({ scope: 'operator:read' }), schema: listSecretsSchema },
    async (request, reply) => {
      const secrets = await getSecrets(database, clientInPath(request));
      return sendOperatorSuccess(reply, 'Secrets found', JSON.stringify({ secrets: secrets.map(secretJson) }));
    },
  );

  app.post(
    '/operator/v1/clients/:client_id/secrets',
    { onRequest: write, schema: addSecretSchema },
    async (request, reply) => {
      const { replace_all: replacesAll = false } = fieldsOf(request, ['replace_all', 'reason']);
      if (typeof replacesAll !== 'boolean') throw invalidRequest(englishOnly('replace_all must be true or false'));
      const change = { client_id: clientInPath(request) };
      const requested = { reason: reasonOf(request), clientId: change.client_id, subjectId: null, message: CREATED };
      const { scopes } = await getClient(database, change.client_id);
      assertMayGive(request, scopes, `client ${replacesAll ? 'new-secret' : 'add-secret'} ${change.client_id}`);
      return (replacesAll ? replace : add)(request, reply, { kinds: ['keys'], change, ...requested });
    },
  );

  app.post(
    '/operator/v1/clients/:client_id/secrets/:secret_id/retire',
    { onRequest: write, schema: retireSecretSchema },
    async (request, reply) => {
      fieldsOf(request, ['reason']);
      const { secret_id: secretId } = request.params as { readonly secret_id: string };
      const change = { client_id: clientInPath(request), secret_id: secretId };
      const requested = { clientId: change.client_id, subjectId: secretId, message: RETIRED };
      // It only takes access away, like disabling the client.
      return retire(request, reply, { kinds: [], change, reason: reasonOf(request), ...requested });
    },
  );
}

const CREATED = 'Secret created';
const RETIRED = 'Secret retired';

const secretChange = (action: string, make: typeof addSecret): GuardedOperation<ManagedChange> =>
  changeOfClient({
    action,

    async apply(inside, { client_id: clientId }) {
      const secret = await make(inside, clientId);
      if (secret === null) throw new ApiError('CLIENT_CONFLICT', { message: TWO_ALREADY });
      const subjectId = secretIdOf(hashSecret(secret));
      return { data: { client_id: clientId, secret_id: subjectId, client_secret: secret }, subjectId };
    },
  });

interface SecretRetire extends ManagedChange {
  readonly secret_id: string;
}

const secretRetire = changeOfClient<SecretRetire>({
  action: 'client retire-secret',

  async apply(inside, { client_id: clientId, secret_id: secretId }) {
    const retired = (await getSecrets(inside, clientId)).find((each) => each.secretId === secretId);
    if (retired === undefined) throw new ApiError('NOT_FOUND', { message: NO_SECRET });
    if (!(await retireClientSecret(inside, clientId, retired)))
      throw new ApiError('CLIENT_CONFLICT', { message: ONLY_SECRET });
    return { data: { client_id: clientId, secret_id: secretId }, subjectId: secretId };
  },
});

/** @throws ApiError NOT_FOUND */
async function getSecrets(database: Database, clientId: string): Promise<ClientSecret[]> {
  const secrets = await findClientSecrets(database, clientId);
  if (secrets.length === 0) throw noClient();
  return secrets;
}

const TWO_ALREADY = englishOnly(
  'The client has two secrets already, and nothing was changed: retire one, or replace both with "replace_all": true',
);
const ONLY_SECRET = englishOnly(
  'This is the only secret of the client, and nothing was changed: add another one first, or disable the client',
);
const NO_SECRET = englishOnly(
  'The client has no secret with this ID: GET /operator/v1/clients/{client_id}/secrets lists them',
);

const secretJson = ({ secretId, createdAt, lastUsedOn }: ClientSecret) => ({
  secret_id: secretId,
  created_at: createdAt,
  last_used_on: lastUsedOn,
});

const SecretId = Type.String({ description: 'The beginning of its SHA-256.', examples: ['1f0c5a2e'] });

const listSecretsSchema = {
  tags: ['Clients'],
  security: accessToken('operator:read'),
  operationId: 'listClientSecrets',
  summary: 'List the secrets of a client by their IDs',
  description: 'One or two, the older one first, without the secrets themselves.',
  params: Type.Object({ client_id: clientIdSchema }),
  response: {
    200: successResponse(
      Type.Object(
        {
          secrets: Type.Array(
            Type.Object(
              {
                secret_id: SecretId,
                created_at: Timestamp,
                last_used_on: nullable(
                  Type.String({ format: 'date', examples: ['2026-11-21'] }),
                  'The day in Jakarta of the last login with it; null before the first.',
                ),
              },
              { title: 'ClientSecret', additionalProperties: false },
            ),
          ),
        },
        { title: 'ClientSecretList', additionalProperties: false },
      ),
      englishOnly('Secrets found'),
      'The secrets.',
    ),
    ...errorResponses(['NOT_FOUND']),
  },
};

const addSecretSchema = actionSchema({
  tag: 'Clients',
  scope: 'operator:write',
  operationId: 'createClientSecret',
  summary: 'Create a secret of a client',
  description:
    'The answer has it, and it is not shown again. A client may have two, so that it can change from one to the ' +
    'other; with `replace_all` the others obtain no more tokens from now on. Not for a client with a scope that the ' +
    'caller could not give.',
  message: CREATED,
  params: { client_id: clientIdSchema },
  body: {
    replace_all: Type.Optional(Type.Boolean({ description: 'Whether the others end at once.', default: false })),
  },
  title: 'CreateClientSecretRequest',
  mayBeProposed: true,
  data: Type.Object(
    {
      client_id: clientIdSchema,
      secret_id: SecretId,
      client_secret: Type.String({
        description: 'Shown only in this response.',
        examples: ['dGliYSBleGFtcGxlLCBub3QgYSBzZWNyZXQ'],
      }),
    },
    { title: 'CreatedClientSecret', additionalProperties: false },
  ),
  errors: ['NOT_FOUND', 'CLIENT_CONFLICT'],
});

const retireSecretSchema = actionSchema({
  tag: 'Clients',
  scope: 'operator:write',
  operationId: 'retireClientSecret',
  summary: 'End one of two secrets of a client',
  description: 'It obtains no more tokens, in all processes within a second. Tokens that it obtained stay valid.',
  message: RETIRED,
  params: { client_id: clientIdSchema, secret_id: SecretId },
  body: {},
  title: 'RetireClientSecretRequest',
  data: Type.Object(
    { client_id: clientIdSchema, secret_id: SecretId },
    { title: 'RetiredClientSecret', additionalProperties: false },
  ),
  errors: ['NOT_FOUND', 'CLIENT_CONFLICT'],
});
