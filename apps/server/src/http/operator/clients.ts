import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { FourEyesKind } from '../../auth/four-eyes.ts';
import { isReferenceId } from '../../domain/identifiers.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { isJsonObject, type JsonObject, numberText } from '../../lib/exact-json.ts';
import { resumePausedValidations } from '../../postgres/account-validations.ts';
import {
  CLIENT_LIMITS,
  type ClientLimit,
  type ClientRecord,
  changeClient,
  findAllClients,
  setClientLimits,
} from '../../postgres/clients.ts';
import type { Database } from '../../postgres/database.ts';
import { findManagedState, lockManagedState } from '../../postgres/managed-state.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { invalidRequest } from '../query-parameters.ts';
import { requireJson } from '../request-body.ts';
import { accessToken, errorResponses, nullable, successResponse } from '../schemas.ts';
import { fieldsOf, reasonOf } from './action-request.ts';
import { actionSchema } from './action-schemas.ts';
import type { FourEyes } from './four-eyes/four-eyes.ts';
import type { GuardedOperation } from './four-eyes/guarded-operation.ts';

export interface ClientsDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly fourEyes: Pick<FourEyes, 'guard'>;
}

/** The clients with their limits; changes to them, recorded, by the same functions as `npm run manage -- client`. */
export function operatorClients(app: FastifyInstance, { authorize, database, fourEyes }: ClientsDependencies): void {
  const run = fourEyes.guard(clientChange);

  app.get(
    '/operator/v1/clients',
    { onRequest: authorize({ scope: 'operator:read' }), schema: listClientsSchema },
    async (_request, reply) => {
      const clients = await findAllClients(database);
      return sendOperatorSuccess(reply, 'Clients found', JSON.stringify({ clients: clients.map(clientJson) }));
    },
  );

  app.patch(
    '/operator/v1/clients/:client_id',
    { onRequest: [authorize({ scope: 'operator:write' }), requireJson], schema: changeClientSchema },
    async (request, reply) => {
      const body = fieldsOf(request, ['limits', 'trusted', 'disabled', 'reason']);
      const reason = reasonOf(request);
      const limits = limitsIn(body);
      const [trusted, disabled] = [flagIn(body, 'trusted'), flagIn(body, 'disabled')];
      const { client_id: clientId } = request.params as { client_id: string };
      if (!isReferenceId(clientId)) throw noClient();
      const kinds: FourEyesKind[] = [
        ...(Object.keys(limits).length > 0 ? (['limits'] as const) : []),
        // A disabled client is let in again by a second person: the first may have disabled it for an attack.
        ...(trusted === null && disabled !== false ? [] : (['trust'] as const)),
      ];
      const change = { client_id: clientId, limits, trusted, disabled };
      return run(request, reply, { kinds, change, reason, clientId, subjectId: null, message: 'Client changed' });
    },
  );
}

/** What is asked for: limits and flags that are null, or left out, stay as they are. */
interface ClientChange extends JsonObject {
  readonly client_id: string;
  readonly limits: Partial<Record<ClientLimit, number | null>>;
  readonly trusted: boolean | null;
  readonly disabled: boolean | null;
}

const clientChange: GuardedOperation<ClientChange> = {
  action: 'client change',

  async lockState(inside, { client_id: clientId }) {
    await lockManagedState(inside, clientId);
    const { limits, trusted, disabled } = clientJson(await getClient(inside, clientId));
    return JSON.stringify({ limits, trusted, disabled });
  },

  async execute(inside, { client_id: clientId, limits, trusted, disabled }, reason) {
    await lockManagedState(inside, clientId);
    const before = await findManagedState(inside, clientId);
    if (Object.keys(limits).length > 0) await setClientLimits(inside, clientId, limits);
    if (trusted !== null) await changeClient(inside, clientId, trusted ? 'trust' : 'distrust');
    if (disabled !== null) await changeClient(inside, clientId, disabled ? 'disable' : 'enable');
    const after = await findManagedState(inside, clientId);
    const result = JSON.stringify(clientJson(await getClient(inside, clientId)));
    const record = { action: 'client change', clientId, subjectId: null, reason, before, after };
    // A raised limit or trust lets validations go on that wait for it.
    if (before !== after) await resumePausedValidations(inside, clientId);
    return { result, record: before === after ? null : record };
  },
};

/** @throws ApiError NOT_FOUND */
async function getClient(inside: Database, clientId: string): Promise<ClientRecord> {
  const client = (await findAllClients(inside)).find((each) => each.clientId === clientId);
  if (client === undefined) throw noClient();
  return client;
}

const noClient = (): ApiError =>
  new ApiError('NOT_FOUND', {
    message: englishOnly('No client has this client_id: GET /operator/v1/clients lists them'),
  });

const FIELDS = {
  'check-status': 'check_status_per_minute',
  'check-account': 'check_account_per_minute',
  'accounts-per-day': 'accounts_per_day',
} as const satisfies Record<ClientLimit, string>;

/** Limits that are given; null resets one to the default. @throws ApiError INVALID_REQUEST */
function limitsIn(body: JsonObject): Partial<Record<ClientLimit, number | null>> {
  const given = body['limits'] ?? {};
  const names: readonly string[] = Object.values(FIELDS);
  if (!isJsonObject(given) || !Object.keys(given).every((name) => names.includes(name))) {
    throw invalidRequest(englishOnly(`limits must be an object with any of ${names.join(', ')}`));
  }
  return Object.fromEntries(
    CLIENT_LIMITS.filter((limit) => given[FIELDS[limit]] !== undefined).map((limit) => {
      const value = given[FIELDS[limit]];
      const text = numberText(value) ?? '';
      if (value === null) return [limit, null];
      if (/^\d{1,9}$/.test(text)) return [limit, Number(text)];
      throw invalidRequest(englishOnly(`${FIELDS[limit]} must be a whole number, or null for the default`));
    }),
  );
}

/** @throws ApiError INVALID_REQUEST */
function flagIn(body: JsonObject, name: string): boolean | null {
  const value = body[name] ?? null;
  if (value === null || typeof value === 'boolean') return value;
  throw invalidRequest(englishOnly(`${name} must be true or false`));
}

const clientJson = ({ clientId, name, scopes, limits, trusted, disabled }: ClientRecord): Record<string, unknown> => ({
  client_id: clientId,
  name,
  scopes,
  limits: Object.fromEntries(CLIENT_LIMITS.map((limit) => [FIELDS[limit], limits[limit] ?? null])),
  trusted,
  disabled,
});

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const limit = (description: string) =>
  nullable(Type.Integer({ minimum: 0, examples: [600] }), `${description} null for the default.`);

const limitFields = {
  check_status_per_minute: limit('Status checks per minute.'),
  check_account_per_minute: limit('Account checks per minute.'),
  accounts_per_day: limit('Different accounts that it may check in a day.'),
};

const ClientSchema = Type.Object(
  {
    client_id: text('The client.', 'shop-one'),
    name: text('Its name.', 'Shop One'),
    scopes: Type.Array(text('A scope.', 'status:read')),
    limits: Type.Object(limitFields, { title: 'ClientLimits', additionalProperties: false }),
    trusted: Type.Boolean({ description: 'Exempt from the enumeration guard, except for `accounts_per_day`.' }),
    disabled: Type.Boolean({ description: 'Whether its requests are refused.' }),
  },
  { title: 'OperatorClient', additionalProperties: false },
);

const listClientsSchema = {
  tags: ['Clients'],
  security: accessToken('operator:read'),
  operationId: 'listClients',
  summary: 'List the clients with their scopes and limits',
  description: 'All of them, in the order of `client_id`.',
  response: {
    200: successResponse(
      Type.Object({ clients: Type.Array(ClientSchema) }, { title: 'OperatorClientList', additionalProperties: false }),
      englishOnly('Clients found'),
      'The clients.',
    ),
    ...errorResponses([]),
  },
};

const changeClientSchema = actionSchema({
  tag: 'Clients',
  scope: 'operator:write',
  operationId: 'changeClient',
  summary: "Change a client's limits, trust it or disable it",
  description: 'What is left out stays as it is. It takes effect in all processes within a second.',
  message: 'Client changed',
  params: { client_id: text('The client.', 'shop-one') },
  body: {
    limits: Type.Optional(
      Type.Object(
        Object.fromEntries(Object.entries(limitFields).map(([name, schema]) => [name, Type.Optional(schema)])),
        { title: 'ChangedLimits' },
      ),
    ),
    trusted: Type.Optional(Type.Boolean({ description: 'Whether to exempt it from the enumeration guard.' })),
    disabled: Type.Optional(Type.Boolean({ description: 'Whether to refuse its requests.' })),
  },
  title: 'ChangeClientRequest',
  mayBeProposed: true,
  data: ClientSchema,
  errors: ['NOT_FOUND'],
});
