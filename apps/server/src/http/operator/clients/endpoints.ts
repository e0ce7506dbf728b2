import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Seal } from '../../../auth/secrets.ts';
import { newCallbackSecret } from '../../../callbacks/signature.ts';
import type { EventKind } from '../../../domain/event.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { JsonObject } from '../../../lib/exact-json.ts';
import { ownProperty } from '../../../lib/own-property.ts';
import type { DestinationResult } from '../../../outbound/destination.ts';
import {
  type CallbackEndpoint,
  changeEndpointIn,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  lockEndpointState,
  prepareEnabling,
  rotateEndpointSecret,
} from '../../../postgres/callback-endpoints.ts';
import type { Database } from '../../../postgres/database.ts';
import type { EndpointKey } from '../../../postgres/due-endpoints.ts';
import { lockManagedState } from '../../../postgres/managed-state.ts';
import { isEndpointId, readDisabled, readKinds, readUrl } from '../../callbacks/endpoint-resource.ts';
import { DEFAULT_KINDS, ENDPOINTS_MAX, newEndpointId } from '../../callbacks/register-endpoint.ts';
import { OVERLAP_SECONDS } from '../../callbacks/rotate-secret.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { ApiError } from '../../errors.ts';
import { invalidRequest } from '../../query-parameters.ts';
import { requireJson } from '../../request-body.ts';
import { fieldsOf, reasonOf } from '../action-request.ts';
import type { GuardedOperation } from '../four-eyes/guarded-operation.ts';
import { clientInPath, getClient, type ManagedChange } from './client-resource.ts';
import type { ClientsDependencies } from './clients.ts';
import {
  changeEndpointSchema,
  listEndpointsSchema,
  MESSAGES,
  registerEndpointSchema,
  rotateEndpointSecretSchema,
} from './endpoint-schemas.ts';

export interface ClientEndpointsDependencies extends ClientsDependencies {
  readonly seal: Seal;
  /** Whether callbacks may be sent to a URL. */
  readonly validateUrl: (url: string) => Promise<DestinationResult>;
}

/** The callback endpoints of any client, as the client itself registers and changes them. */
export function clientEndpoints(app: FastifyInstance, dependencies: ClientEndpointsDependencies): void {
  const { authorize, database, fourEyes, seal } = dependencies;
  const register = fourEyes.guard(endpointRegister(seal));
  const change = fourEyes.guard(endpointChange(seal));
  const rotate = fourEyes.guard(endpointRotate(seal));
  const write = [authorize({ scope: 'operator:write' }), requireJson];

  app.get(
    '/operator/v1/clients/:client_id/callback-endpoints',
    { onRequest: authorize({ scope: 'operator:read' }), schema: listEndpointsSchema },
    async (request, reply) => {
      const { clientId } = await getClient(database, clientInPath(request));
      const endpoints = await listEndpoints(database, clientId);
      return sendOperatorSuccess(reply, MESSAGES.found, JSON.stringify({ endpoints: endpoints.map(endpointJson) }));
    },
  );

  app.post(
    '/operator/v1/clients/:client_id/callback-endpoints',
    { onRequest: write, schema: registerEndpointSchema },
    async (request, reply) => {
      const { url, kinds } = fieldsOf(request, ['url', 'kinds', 'reason']);
      const reason = reasonOf(request);
      const { clientId } = await getClient(database, clientInPath(request));
      const endpointId = newEndpointId();
      const order = {
        client_id: clientId,
        endpoint_id: endpointId,
        // Before the URL, whose host name is looked up.
        kinds: kinds === undefined ? DEFAULT_KINDS : readKinds(kinds),
        url: await readDestination(request, url, dependencies),
      };
      const requested = { reason, clientId, subjectId: endpointId, message: MESSAGES.registered };
      return register(request, reply, { kinds: ['keys'], change: order, ...requested });
    },
  );

  app.patch(
    '/operator/v1/clients/:client_id/callback-endpoints/:endpoint_id',
    { onRequest: write, schema: changeEndpointSchema },
    async (request, reply) => {
      const order = await readChange(request, dependencies);
      const { client_id: clientId, endpoint_id: subjectId } = order;
      const requested = { reason: reasonOf(request), clientId, subjectId, message: MESSAGES.changed };
      // Where callbacks go matters as much as the secret that signs them.
      return change(request, reply, { kinds: order.url === null ? [] : ['keys'], change: order, ...requested });
    },
  );

  app.post(
    '/operator/v1/clients/:client_id/callback-endpoints/:endpoint_id/rotate-secret',
    { onRequest: write, schema: rotateEndpointSecretSchema },
    async (request, reply) => {
      fieldsOf(request, ['reason']);
      const reason = reasonOf(request);
      const { clientId, endpointId } = endpointInPath(request);
      const order = { client_id: clientId, endpoint_id: endpointId };
      const requested = { reason, clientId, subjectId: endpointId, message: MESSAGES.rotated };
      return rotate(request, reply, { kinds: ['keys'], change: order, ...requested });
    },
  );
}

/** @throws ApiError INVALID_REQUEST, NOT_FOUND, ENDPOINT_NOT_FOUND */
async function readChange(
  request: FastifyRequest,
  dependencies: Pick<ClientEndpointsDependencies, 'database' | 'seal' | 'validateUrl'>,
): Promise<EndpointChange> {
  const body = fieldsOf(request, ['url', 'kinds', 'disabled', 'reason']);
  const [url, kinds, disabled] = ['url', 'kinds', 'disabled'].map((name) => ownProperty(body, name));
  if (url === undefined && kinds === undefined && disabled === undefined)
    throw invalidRequest(englishOnly('give at least one of url, kinds, disabled'));
  const key = endpointInPath(request);
  if ((await findEndpoint(dependencies.database, key)) === null) throw noEndpoint();
  return {
    client_id: key.clientId,
    endpoint_id: key.endpointId,
    kinds: kinds === undefined ? null : readKinds(kinds),
    disabled: disabled === undefined ? null : readDisabled(disabled),
    url: url === undefined ? null : await readDestination(request, url, dependencies),
  };
}

/** A URL in a proposal. Clients put keys of their own into paths, so people see the origin and a hash. */
interface SealedUrl extends JsonObject {
  readonly origin: string;
  readonly sha256: string;
  /** Base64. */
  readonly sealed: string;
}

/** @throws ApiError INVALID_REQUEST */
async function readDestination(
  request: FastifyRequest,
  value: unknown,
  { seal, validateUrl }: Pick<ClientEndpointsDependencies, 'seal' | 'validateUrl'>,
): Promise<SealedUrl> {
  const url = await readUrl(request, value, validateUrl);
  const sha256 = createHash('sha256').update(url).digest('hex');
  return { origin: new URL(url).origin, sha256, sealed: seal.seal(url).toString('base64') };
}

/** @throws ApiError PROPOSAL_CONFLICT when the secret key was replaced since the URL was proposed */
function openUrl(seal: Seal, { sealed }: SealedUrl): string {
  try {
    return seal.open(Buffer.from(sealed, 'base64'));
  } catch (cause) {
    throw new ApiError('PROPOSAL_CONFLICT', { message: KEY_REPLACED, cause });
  }
}

interface EndpointOrder extends ManagedChange {
  readonly endpoint_id: string;
}

interface EndpointRegister extends EndpointOrder {
  readonly url: SealedUrl;
  readonly kinds: readonly EventKind[];
}

const endpointRegister = (seal: Seal): GuardedOperation<EndpointRegister> => ({
  action: 'endpoint register',

  async lockState(inside, { client_id: clientId }) {
    await lockManagedState(inside, clientId);
    const endpoints = await listEndpoints(inside, (await getClient(inside, clientId)).clientId);
    return JSON.stringify({ endpoints: endpoints.map(({ endpointId }) => endpointId) });
  },

  async execute(inside, { client_id: clientId, endpoint_id: endpointId, url, kinds }, reason) {
    const secret = newCallbackSecret();
    const created = { clientId, endpointId, url: openUrl(seal, url), kinds, secretSealed: seal.seal(secret) };
    const endpoint = await insertEndpoint(inside, created, ENDPOINTS_MAX);
    if (endpoint === null) throw new ApiError('ENDPOINT_LIMIT_REACHED');
    const after = await lockEndpointState(inside, endpoint);
    const record = { action: 'endpoint register', clientId, subjectId: endpointId, reason, before: null, after };
    return { result: JSON.stringify({ ...endpointJson(endpoint), secret }), record };
  },
});

interface EndpointChange extends EndpointOrder {
  /** null: stays as it is. */
  readonly url: SealedUrl | null;
  readonly kinds: readonly EventKind[] | null;
  readonly disabled: boolean | null;
}

const endpointChange = (seal: Seal): GuardedOperation<EndpointChange> =>
  operationOnEndpoint({
    action: 'endpoint change',

    async prepare(database, { client_id: clientId, endpoint_id: endpointId, disabled }) {
      if (disabled === false) await prepareEnabling(database, { clientId, endpointId });
    },

    async apply(inside, { client_id: clientId, endpoint_id: endpointId, url, kinds, disabled }) {
      const changes = { url: url === null ? null : openUrl(seal, url), kinds, disabled };
      const order = { ...changes, disabledBy: 'operator' } as const;
      const changed = await inside.transaction((query) => changeEndpointIn(query, { clientId, endpointId }, order));
      if (changed === null) throw noEndpoint();
      return endpointJson(changed);
    },
  });

const endpointRotate = (seal: Seal): GuardedOperation<EndpointOrder> =>
  operationOnEndpoint({
    action: 'endpoint rotate-secret',

    async apply(inside, { client_id: clientId, endpoint_id: endpointId }) {
      const secret = newCallbackSecret();
      const key = { clientId, endpointId };
      const until = await rotateEndpointSecret(inside, key, seal.seal(secret), OVERLAP_SECONDS);
      if (until === null) throw noEndpoint();
      return { endpoint_id: endpointId, secret, former_secret_until: until };
    },
  });

/** A change of one endpoint, recorded with what can be changed about it before and after. */
const operationOnEndpoint = <Change extends EndpointOrder>({
  apply,
  ...operation
}: Pick<GuardedOperation<Change>, 'action' | 'prepare'> & {
  /** Resolves to the `data` of the answer. @throws ApiError */
  readonly apply: (inside: Database, change: Change) => Promise<object>;
}): GuardedOperation<Change> => ({
  ...operation,

  async lockState(inside, { client_id: clientId, endpoint_id: endpointId }) {
    const state = await lockEndpointState(inside, { clientId, endpointId });
    if (state === null) throw noEndpoint();
    return state;
  },

  async execute(inside, change, reason) {
    const { client_id: clientId, endpoint_id: endpointId } = change;
    const before = await lockEndpointState(inside, { clientId, endpointId });
    const data = await apply(inside, change);
    const after = await lockEndpointState(inside, { clientId, endpointId });
    const record = { action: operation.action, clientId, subjectId: endpointId, reason, before, after };
    return { result: JSON.stringify(data), record: before === after ? null : record };
  },
});

/** @throws ApiError ENDPOINT_NOT_FOUND for a text that is no endpoint ID */
function endpointInPath(request: FastifyRequest): EndpointKey {
  const { endpoint_id: endpointId } = request.params as { readonly endpoint_id: string };
  if (!isEndpointId(endpointId)) throw noEndpoint();
  return { clientId: clientInPath(request), endpointId };
}

const noEndpoint = (): ApiError => new ApiError('ENDPOINT_NOT_FOUND');

const KEY_REPLACED = englishOnly(
  'TIBA_SECRET_KEY was replaced since this was proposed, and nothing was done: propose the change again',
);

/** The origin alone: clients put keys of their own into paths and queries, which the operator must not see. */
const endpointJson = (endpoint: CallbackEndpoint): Record<string, unknown> => ({
  client_id: endpoint.clientId,
  endpoint_id: endpoint.endpointId,
  origin: new URL(endpoint.url).origin,
  kinds: endpoint.kinds,
  status: endpoint.disabledAt === null ? 'enabled' : 'disabled',
  disabled_reason: endpoint.disabledReason,
  disabled_at: endpoint.disabledAt,
  failing_since: endpoint.failingSince,
  created_at: endpoint.createdAt,
});
