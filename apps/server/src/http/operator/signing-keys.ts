import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Seal } from '../../auth/secrets.ts';
import { rotateSigningKeys, SIGNING_ALGORITHMS, type SigningAlgorithm } from '../../auth/signing-keys.ts';
import type { JsonObject } from '../../lib/exact-json.ts';
import { findManagedState, INSTALLATION_ID, lockManagedState } from '../../postgres/managed-state.ts';
import type { Authorize } from '../authorize.ts';
import { oneOf } from '../query-parameters.ts';
import { requireJson } from '../request-body.ts';
import { fieldsOf, reasonOf } from './action-request.ts';
import { actionSchema } from './action-schemas.ts';
import type { FourEyes } from './four-eyes/four-eyes.ts';
import type { GuardedOperation } from './four-eyes/guarded-operation.ts';

export interface SigningKeysDependencies {
  readonly authorize: Authorize;
  readonly fourEyes: Pick<FourEyes, 'guard'>;
  readonly seal: Seal;
}

/** The keys that sign access tokens, as `npm run manage -- keys rotate` replaces them. */
export function signingKeys(app: FastifyInstance, { authorize, fourEyes, seal }: SigningKeysDependencies): void {
  const run = fourEyes.guard(keysRotate(seal));

  app.post(
    '/operator/v1/signing-keys/rotate',
    { onRequest: [authorize({ scope: 'operator:write' }), requireJson], schema: rotateSchema },
    async (request, reply) => {
      const { algorithm: requested } = fieldsOf(request, ['algorithm', 'reason']);
      const reason = reasonOf(request);
      const algorithm = oneOf(requested, SIGNING_ALGORITHMS, 'algorithm') ?? 'EdDSA';
      return run(request, reply, {
        kinds: ['keys'],
        change: { algorithm },
        reason,
        clientId: null,
        subjectId: null,
        message: 'A new key signs from now on',
      });
    },
  );
}

interface KeysRotate extends JsonObject {
  readonly algorithm: SigningAlgorithm;
}

const keysRotate = (seal: Seal): GuardedOperation<KeysRotate> => ({
  action: 'keys rotate',

  async lockState(inside) {
    await lockManagedState(inside, INSTALLATION_ID);
    return findManagedState(inside, INSTALLATION_ID);
  },

  async execute(inside, { algorithm }, reason) {
    await lockManagedState(inside, INSTALLATION_ID);
    const before = await findManagedState(inside, INSTALLATION_ID);
    const keyId = await rotateSigningKeys(inside, seal, algorithm);
    const after = await findManagedState(inside, INSTALLATION_ID);
    const record = { action: 'keys rotate', clientId: null, subjectId: keyId, reason, before, after };
    return { result: JSON.stringify({ key_id: keyId, algorithm }), record };
  },
});

const Algorithm = Type.Enum([...SIGNING_ALGORITHMS], { title: 'SigningAlgorithm' });

const rotateSchema = actionSchema({
  tag: 'Clients',
  scope: 'operator:write',
  operationId: 'rotateSigningKeys',
  summary: 'Sign access tokens with a new key',
  description: 'From now on, in all processes. Tokens that another key signed stay valid until they expire.',
  message: 'A new key signs from now on',
  params: {},
  body: { algorithm: Type.Optional(Algorithm) },
  title: 'RotateSigningKeysRequest',
  mayBeProposed: true,
  data: Type.Object(
    {
      key_id: Type.String({ description: 'The `kid` of tokens.', examples: ['Zk9vQm1hR2x1'] }),
      algorithm: Algorithm,
    },
    { title: 'RotatedSigningKey', additionalProperties: false },
  ),
  errors: [],
});
