import type { FastifyInstance } from 'fastify';
import type { Seal } from '../../../auth/secrets.ts';
import {
  addSnapKey,
  allowSnap,
  CLOCK_SKEW_SECONDS_MAX,
  FORMER_HOURS,
  FORMER_HOURS_MAX,
  findSnapClient,
  isClockSkew,
  isPartnerId,
  PUBLIC_KEYS_MAX,
  renewSnapSecret,
  type SnapRefusal,
  snapJson,
} from '../../../auth/snap-clients.ts';
import { InvalidPublicKey, readSnapPublicKey } from '../../../auth/snap-credentials.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { type JsonObject, numberText } from '../../../lib/exact-json.ts';
import type { Database } from '../../../postgres/database.ts';
import {
  BODY_HASHES,
  deleteSnapClient,
  deleteSnapPublicKey,
  EXTERNAL_ID_RULES,
  type SnapClientOptions,
} from '../../../postgres/snap-clients.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { ApiError } from '../../errors.ts';
import { invalidRequest, oneOf, wholeNumber } from '../../query-parameters.ts';
import { requireJson } from '../../request-body.ts';
import { fieldsOf, reasonOf } from '../action-request.ts';
import { changeOfClient, clientInPath, getClient, type ManagedChange } from './client-resource.ts';
import type { ClientsDependencies } from './clients.ts';
import {
  addKeySchema,
  changeSnapSchema,
  endSnapSchema,
  MESSAGES,
  readSnapSchema,
  removeKeySchema,
  renewSnapSecretSchema,
} from './snap-schemas.ts';

export interface ClientSnapDependencies extends ClientsDependencies {
  readonly seal: Seal;
}

const PATH = '/operator/v1/clients/:client_id/snap';

/** How a client uses the SNAP listener (docs/snap-clients.md): its options, its public keys and its secret. */
export function clientSnap(
  app: FastifyInstance,
  { authorize, database, fourEyes, seal }: ClientSnapDependencies,
): void {
  const change = fourEyes.guard(snapChange);
  const addKey = fourEyes.guard(keyAdd);
  const removeKey = fourEyes.guard(keyRemove);
  const renewSecret = fourEyes.guard(secretRenew(seal));
  const end = fourEyes.guard(snapEnd);
  const onRequest = [authorize({ scope: 'operator:write' }), requireJson];

  app.get(
    PATH,
    { onRequest: authorize({ scope: 'operator:read' }), schema: readSnapSchema },
    async (request, reply) => {
      const { clientId } = await getClient(database, clientInPath(request));
      return sendOperatorSuccess(reply, MESSAGES.found, JSON.stringify(await snapOf(database, clientId)));
    },
  );

  app.patch(PATH, { onRequest, schema: changeSnapSchema }, async (request, reply) => {
    const body = fieldsOf(request, ['partner_id', 'external_ids', 'body_hash', 'clock_skew_seconds', 'reason']);
    const order = { client_id: clientInPath(request), options: optionsIn(body) };
    const requested = { reason: reasonOf(request), clientId: order.client_id, subjectId: null };
    return change(request, reply, { kinds: ['keys'], change: order, ...requested, message: MESSAGES.changed });
  });

  app.post(`${PATH}/keys`, { onRequest, schema: addKeySchema }, async (request, reply) => {
    const { public_key: pem } = fieldsOf(request, ['public_key', 'reason']);
    const { keyId, publicKey } = keyIn(pem);
    const order = { client_id: clientInPath(request), key_id: keyId, public_key: publicKey };
    const requested = { reason: reasonOf(request), clientId: order.client_id, subjectId: keyId };
    return addKey(request, reply, { kinds: ['keys'], change: order, ...requested, message: MESSAGES.keyAdded });
  });

  // What only takes access away needs no approval, like disabling the client.
  app.post(`${PATH}/keys/:key_id/remove`, { onRequest, schema: removeKeySchema }, async (request, reply) => {
    fieldsOf(request, ['reason']);
    const { key_id: keyId } = request.params as { readonly key_id: string };
    const order = { client_id: clientInPath(request), key_id: keyId };
    const requested = { reason: reasonOf(request), clientId: order.client_id, subjectId: keyId };
    if (!KEY_ID.test(keyId)) throw new ApiError('NOT_FOUND', { message: NO_KEY });
    return removeKey(request, reply, { kinds: [], change: order, ...requested, message: MESSAGES.keyRemoved });
  });

  app.post(`${PATH}/secret`, { onRequest, schema: renewSnapSecretSchema }, async (request, reply) => {
    const { former_hours: hours } = fieldsOf(request, ['former_hours', 'reason']);
    const bounds = { name: 'former_hours', min: 0, max: FORMER_HOURS_MAX, fallback: FORMER_HOURS };
    const formerHours = wholeNumber(hours === undefined ? undefined : (numberText(hours) ?? ''), bounds);
    const order = { client_id: clientInPath(request), former_hours: formerHours };
    const requested = { reason: reasonOf(request), clientId: order.client_id, subjectId: null };
    return renewSecret(request, reply, { kinds: ['keys'], change: order, ...requested, message: MESSAGES.renewed });
  });

  app.post(`${PATH}/end`, { onRequest, schema: endSnapSchema }, async (request, reply) => {
    fieldsOf(request, ['reason']);
    const order = { client_id: clientInPath(request) };
    const requested = { reason: reasonOf(request), clientId: order.client_id, subjectId: null };
    return end(request, reply, { kinds: [], change: order, ...requested, message: MESSAGES.ended });
  });
}

interface SnapChange extends ManagedChange {
  readonly options: SnapClientOptions;
}

const snapChange = changeOfClient<SnapChange>({
  action: 'client snap',

  async apply(inside, { client_id: clientId, options }) {
    accepted(await allowSnap(inside, clientId, options));
    return { data: await snapOf(inside, clientId) };
  },
});

interface KeyAdd extends ManagedChange {
  readonly key_id: string;
  readonly public_key: string;
}

const keyAdd = changeOfClient<KeyAdd>({
  action: 'client snap-key',

  async apply(inside, { client_id: clientId, key_id: keyId, public_key: publicKey }) {
    const { isNew } = accepted(await addSnapKey(inside, clientId, { keyId, publicKey }));
    return { data: { client_id: clientId, key_id: keyId, is_new: isNew }, subjectId: keyId };
  },
});

interface KeyRemove extends ManagedChange {
  readonly key_id: string;
}

const keyRemove = changeOfClient<KeyRemove>({
  action: 'client snap-key remove',

  async apply(inside, { client_id: clientId, key_id: keyId }) {
    if (!(await deleteSnapPublicKey(inside, clientId, keyId))) throw new ApiError('NOT_FOUND', { message: NO_KEY });
    return { data: { client_id: clientId, key_id: keyId }, subjectId: keyId };
  },
});

interface SecretRenew extends ManagedChange {
  readonly former_hours: number;
}

const secretRenew = (seal: Seal) =>
  changeOfClient<SecretRenew>({
    action: 'client snap-secret',

    async apply(inside, { client_id: clientId, former_hours: formerHours }) {
      const { secret } = accepted(await renewSnapSecret(inside, seal, { clientId, formerHours }));
      return { data: { client_id: clientId, snap_secret: secret } };
    },
  });

const snapEnd = changeOfClient({
  action: 'client snap-end',

  async apply(inside, { client_id: clientId }) {
    return { data: { client_id: clientId, ended: await deleteSnapClient(inside, clientId) } };
  },
});

async function snapOf(database: Database, clientId: string): Promise<object> {
  const client = await findSnapClient(database, clientId);
  return { client_id: clientId, snap: client === null ? null : snapJson(client) };
}

/** What was done. @throws ApiError CLIENT_CONFLICT, which says why nothing was */
function accepted<Done extends object>(outcome: Done | SnapRefusal): Done {
  if ('refusal' in outcome) throw new ApiError('CLIENT_CONFLICT', { message: REFUSALS[outcome.refusal] });
  return outcome;
}

const REFUSALS = {
  'partner ID needed': englishOnly(
    'An X-PARTNER-ID has at most 36 characters, and this client_id is longer: set partner_id first',
  ),
  'partner ID in use': englishOnly('Another client has this partner_id, and nothing was changed: choose another one'),
  'too many keys': englishOnly(
    `The client has ${PUBLIC_KEYS_MAX} keys already, and nothing was changed: remove one that it no longer signs with`,
  ),
} as const;

/** @throws ApiError INVALID_REQUEST */
function optionsIn(body: JsonObject): SnapClientOptions {
  const { partner_id: partnerId, clock_skew_seconds: skew } = body;
  if (partnerId !== undefined && !(typeof partnerId === 'string' && isPartnerId(partnerId)))
    throw invalidRequest(englishOnly('partner_id must have 1 to 36 printable ASCII characters without spaces'));
  const clockSkewSeconds = Number(numberText(skew) ?? Number.NaN);
  if (skew !== undefined && !isClockSkew(clockSkewSeconds))
    throw invalidRequest(englishOnly(`clock_skew_seconds must be a whole number from 1 to ${CLOCK_SKEW_SECONDS_MAX}`));
  const externalIds = oneOf(body['external_ids'], EXTERNAL_ID_RULES, 'external_ids');
  const bodyHash = oneOf(body['body_hash'], BODY_HASHES, 'body_hash');
  return {
    ...(partnerId === undefined ? {} : { partnerId }),
    ...(externalIds === null ? {} : { externalIds }),
    ...(bodyHash === null ? {} : { bodyHash }),
    ...(skew === undefined ? {} : { clockSkewSeconds }),
  };
}

/** @throws ApiError INVALID_REQUEST */
function keyIn(pem: unknown): ReturnType<typeof readSnapPublicKey> {
  try {
    return readSnapPublicKey(typeof pem === 'string' ? pem : '');
  } catch (error) {
    if (error instanceof InvalidPublicKey) throw invalidRequest(englishOnly(`public_key: ${error.message}`));
    throw error;
  }
}

/** As `readSnapPublicKey` makes it. */
const KEY_ID = /^[0-9a-f]{16}$/;
const NO_KEY = englishOnly('The client has no key with this ID: GET /operator/v1/clients/{client_id}/snap lists them');
