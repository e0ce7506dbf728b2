import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { createClient, isNewClientId } from '../../../auth/client-credentials.ts';
import type { FourEyesKind } from '../../../auth/four-eyes.ts';
import { isScope, SCOPES, type Scope } from '../../../auth/scopes.ts';
import { isPlainText, withoutBidiControls } from '../../../domain/identifiers.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { isJsonObject, type JsonObject, numberText } from '../../../lib/exact-json.ts';
import { ownProperty } from '../../../lib/own-property.ts';
import { resumePausedValidations } from '../../../postgres/account-validations.ts';
import {
  CLIENT_LIMITS,
  type ClientLimit,
  changeClient,
  setClientLimits,
  setClientScopes,
} from '../../../postgres/clients.ts';
import type { Database } from '../../../postgres/database.ts';
import { findManagedState } from '../../../postgres/managed-state.ts';
import type { Authorize } from '../../authorize.ts';
import { ApiError } from '../../errors.ts';
import { invalidRequest } from '../../query-parameters.ts';
import { requireJson } from '../../request-body.ts';
import { fieldsOf, reasonOf } from '../action-request.ts';
import { actionSchema } from '../action-schemas.ts';
import type { FourEyes } from '../four-eyes/four-eyes.ts';
import type { GuardedOperation } from '../four-eyes/guarded-operation.ts';
import {
  ClientSchema,
  changeOfClient,
  clientFields,
  clientIdSchema,
  clientInPath,
  clientJson,
  getClient,
  LIMIT_FIELDS,
  limitSchemas,
  type ManagedChange,
  ScopesSchema,
} from './client-resource.ts';
import { assertMayGive } from './given-scopes.ts';

export interface ClientsDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly fourEyes: Pick<FourEyes, 'guard'>;
}

/** Clients are created and changed, recorded, by the same functions as `npm run manage -- client`. */
export function operatorClients(app: FastifyInstance, { authorize, database, fourEyes }: ClientsDependencies): void {
  const create = fourEyes.guard(clientCreate);
  const change = fourEyes.guard(clientChange);
  const revoke = fourEyes.guard(tokensRevoke);
  const write = [authorize({ scope: 'operator:write' }), requireJson];

  app.post('/operator/v1/clients', { onRequest: write, schema: createClientSchema }, async (request, reply) => {
    const { client_id: id, name = id, scopes } = fieldsOf(request, ['client_id', 'name', 'scopes', 'reason']);
    const reason = reasonOf(request);
    if (typeof id !== 'string' || !isNewClientId(id)) throw invalidRequest(CLIENT_ID_MESSAGE);
    const order = { client_id: id, name: nameIn(name), scopes: scopesIn(scopes) };
    assertMayGive(request, order.scopes, `client create ${id} --scope "${order.scopes.join(' ')}"`);
    // Its secret is a key, and what it may do is trust in it.
    const kinds = ['keys', 'trust'] as const;
    return create(request, reply, { kinds, change: order, reason, clientId: id, subjectId: null, message: CREATED });
  });

  app.patch(
    '/operator/v1/clients/:client_id',
    { onRequest: write, schema: changeClientSchema },
    async (request, reply) => {
      const { change: order, kinds } = readChange(request);
      const requested = { reason: reasonOf(request), clientId: order.client_id, subjectId: null, message: CHANGED };
      await assertMayAdd(request, database, order);
      return change(request, reply, { kinds, change: order, ...requested });
    },
  );

  app.post(
    '/operator/v1/clients/:client_id/revoke-tokens',
    { onRequest: write, schema: revokeTokensSchema },
    async (request, reply) => {
      fieldsOf(request, ['reason']);
      const order = { client_id: clientInPath(request) };
      const requested = { reason: reasonOf(request), clientId: order.client_id, subjectId: null, message: REVOKED };
      return revoke(request, reply, { kinds: [], change: order, ...requested });
    },
  );
}

const CREATED = 'Client created';
const CHANGED = 'Client changed';
const REVOKED = 'Tokens revoked';

interface ClientCreate extends JsonObject {
  readonly client_id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
}

const clientCreate: GuardedOperation<ClientCreate> = {
  action: 'client create',

  /** There is nothing to lock. If the ID is taken meanwhile, nothing is created. */
  async lockState(inside, { client_id: clientId }) {
    if ((await findManagedState(inside, clientId)) !== null) throw idInUse();
    return null;
  },

  async execute(inside, { client_id: clientId, name, scopes }, reason) {
    const secret = await createClient(inside, { clientId, name, scopes });
    if (secret === null) throw idInUse();
    const after = await findManagedState(inside, clientId);
    const data = { ...clientJson(await getClient(inside, clientId)), client_secret: secret };
    const record = { action: 'client create', clientId, subjectId: null, reason, before: null, after };
    return { result: JSON.stringify(data), record };
  },
};

const idInUse = (): ApiError =>
  new ApiError('CLIENT_CONFLICT', {
    message: englishOnly('This client_id is in use, and nothing was changed: choose another one'),
  });

/** What is asked for: what is null, or left out, stays as it is. */
interface ClientChange extends ManagedChange {
  readonly limits: Partial<Record<ClientLimit, number | null>>;
  readonly scopes: readonly Scope[] | null;
  readonly trusted: boolean | null;
  readonly disabled: boolean | null;
}

/** @throws ApiError INVALID_REQUEST, NOT_FOUND */
function readChange(request: FastifyRequest): { change: ClientChange; kinds: readonly FourEyesKind[] } {
  const body = fieldsOf(request, ['limits', 'scopes', 'trusted', 'disabled', 'reason']);
  const limits = limitsIn(body);
  const [trusted, disabled] = [flagIn(body, 'trusted'), flagIn(body, 'disabled')];
  const given = ownProperty(body, 'scopes') ?? null;
  const scopes = given === null ? null : scopesIn(given);
  // A disabled client is let in again by a second person: the first may have disabled it for an attack.
  const isTrust = trusted !== null || disabled === false || scopes !== null;
  const kinds: FourEyesKind[] = [
    ...(Object.keys(limits).length > 0 ? (['limits'] as const) : []),
    ...(isTrust ? (['trust'] as const) : []),
  ];
  return { change: { client_id: clientInPath(request), limits, scopes, trusted, disabled }, kinds };
}

/** For scopes that the client does not have yet. @throws ApiError NOT_FOUND, FORBIDDEN */
async function assertMayAdd(request: FastifyRequest, database: Database, order: ClientChange): Promise<void> {
  if (order.scopes === null) return;
  const { scopes: present } = await getClient(database, order.client_id);
  const added = order.scopes.filter((scope) => !present.includes(scope));
  assertMayGive(request, added, `client scopes ${order.client_id} --scope "${order.scopes.join(' ')}"`);
}

const clientChange = changeOfClient<ClientChange>({
  action: 'client change',

  async apply(inside, { client_id: clientId, limits, scopes, trusted, disabled }) {
    const before = await findManagedState(inside, clientId);
    if (Object.keys(limits).length > 0) await setClientLimits(inside, clientId, limits);
    if (scopes !== null) await setClientScopes(inside, clientId, scopes);
    if (trusted !== null) await changeClient(inside, clientId, trusted ? 'trust' : 'distrust');
    if (disabled !== null) await changeClient(inside, clientId, disabled ? 'disable' : 'enable');
    // A raised limit or trust lets validations go on that wait for it.
    if (before !== (await findManagedState(inside, clientId))) await resumePausedValidations(inside, clientId);
    return { data: clientJson(await getClient(inside, clientId)) };
  },
});

const tokensRevoke = changeOfClient({
  action: 'client revoke-tokens',

  async apply(inside, { client_id: clientId }) {
    await changeClient(inside, clientId, 'revoke-tokens');
    return { data: { client_id: clientId, tokens_revoked: true } };
  },
});

const NAME_LENGTH_MAX = 128;

/** @throws ApiError INVALID_REQUEST */
function nameIn(value: unknown): string {
  const name =
    typeof value === 'string' && isPlainText(value, NAME_LENGTH_MAX) ? withoutBidiControls(value).trim() : '';
  if (name !== '') return name;
  throw invalidRequest(englishOnly(`name must have 1 to ${NAME_LENGTH_MAX} characters of one line`));
}

/** @throws ApiError INVALID_REQUEST */
function scopesIn(value: unknown): readonly Scope[] {
  const given: readonly unknown[] = Array.isArray(value) ? value : [];
  const scopes = given.filter((each): each is Scope => typeof each === 'string' && isScope(each));
  if (scopes.length > 0 && scopes.length === given.length && new Set(scopes).size === scopes.length) return scopes;
  throw invalidRequest(englishOnly(`scopes must be a list of one or more of ${SCOPES.join(', ')}, without repetition`));
}

/** Limits that are given; null resets one to the default. @throws ApiError INVALID_REQUEST */
function limitsIn(body: JsonObject): Partial<Record<ClientLimit, number | null>> {
  const given = body['limits'] ?? {};
  const names: readonly string[] = Object.values(LIMIT_FIELDS);
  if (!isJsonObject(given) || !Object.keys(given).every((name) => names.includes(name))) {
    throw invalidRequest(englishOnly(`limits must be an object with any of ${names.join(', ')}`));
  }
  return Object.fromEntries(
    CLIENT_LIMITS.filter((limit) => given[LIMIT_FIELDS[limit]] !== undefined).map((limit) => {
      const value = given[LIMIT_FIELDS[limit]];
      const text = numberText(value) ?? '';
      if (value === null) return [limit, null];
      if (/^\d{1,9}$/.test(text)) return [limit, Number(text)];
      throw invalidRequest(
        englishOnly(`${LIMIT_FIELDS[limit]} must be a whole number from 0 to 999999999, or null for the default`),
      );
    }),
  );
}

/** @throws ApiError INVALID_REQUEST */
function flagIn(body: JsonObject, name: string): boolean | null {
  const value = body[name] ?? null;
  if (value === null || typeof value === 'boolean') return value;
  throw invalidRequest(englishOnly(`${name} must be true or false`));
}

const CLIENT_ID_MESSAGE = englishOnly('client_id must have 1 to 64 letters, digits, dots, dashes or underscores');

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const common = { tag: 'Clients', scope: 'operator:write', params: { client_id: clientIdSchema } } as const;

const createClientSchema = actionSchema({
  tag: 'Clients',
  scope: 'operator:write',
  operationId: 'createClient',
  summary: 'Create a client',
  description: 'The answer has its secret, which is not shown again. It has the default limits.',
  message: CREATED,
  body: {
    client_id: clientIdSchema,
    name: Type.Optional(text('For people; the client_id if it is left out.', 'Shop One')),
    scopes: ScopesSchema,
  },
  title: 'CreateClientRequest',
  mayBeProposed: true,
  data: Type.Object(
    { ...clientFields, client_secret: text('Shown only in this response.', 'dGliYSBleGFtcGxlLCBub3QgYSBzZWNyZXQ') },
    { title: 'CreatedClient', additionalProperties: false },
  ),
  errors: ['CLIENT_CONFLICT'],
});

const changeClientSchema = actionSchema({
  ...common,
  operationId: 'changeClient',
  summary: "Change a client's limits or scopes, trust it or disable it",
  description:
    'What is left out stays as it is. It takes effect in all processes within a second. A scope that is left out of ' +
    '`scopes` ends also for tokens that have it; a new one is in the next token.',
  message: CHANGED,
  body: {
    limits: Type.Optional(
      Type.Object(
        Object.fromEntries(Object.entries(limitSchemas).map(([name, schema]) => [name, Type.Optional(schema)])),
        { title: 'ChangedLimits' },
      ),
    ),
    scopes: Type.Optional(ScopesSchema),
    trusted: Type.Optional(Type.Boolean({ description: 'Whether to exempt it from the enumeration guard.' })),
    disabled: Type.Optional(Type.Boolean({ description: 'Whether to refuse its requests.' })),
  },
  title: 'ChangeClientRequest',
  mayBeProposed: true,
  data: ClientSchema,
  errors: ['NOT_FOUND'],
});

const revokeTokensSchema = actionSchema({
  ...common,
  operationId: 'revokeClientTokens',
  summary: 'Revoke the access tokens that a client has now',
  description: 'In all processes within a second. The client can log in again at once.',
  message: REVOKED,
  body: {},
  title: 'RevokeTokensRequest',
  data: Type.Object(
    { client_id: clientIdSchema, tokens_revoked: Type.Boolean({ description: 'Always true.' }) },
    { title: 'RevokedTokens', additionalProperties: false },
  ),
  errors: ['NOT_FOUND'],
});
