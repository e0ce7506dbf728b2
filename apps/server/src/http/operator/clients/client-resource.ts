import type { FastifyRequest } from 'fastify';
import { type TProperties, Type } from 'typebox';
import { SCOPES } from '../../../auth/scopes.ts';
import { isReferenceId } from '../../../domain/identifiers.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { JsonObject } from '../../../lib/exact-json.ts';
import { CLIENT_LIMITS, type ClientLimit, type ClientRecord, findClient } from '../../../postgres/clients.ts';
import type { Database } from '../../../postgres/database.ts';
import { findManagedState, lockManagedState } from '../../../postgres/managed-state.ts';
import { ApiError } from '../../errors.ts';
import { nullable } from '../../schemas.ts';
import type { GuardedOperation } from '../four-eyes/guarded-operation.ts';

/** A client in requests and responses of the operator: its ID in the path, its schema, its JSON, a change of it. */

/** @throws ApiError NOT_FOUND for a text that is no client ID */
export function clientInPath(request: FastifyRequest): string {
  const { client_id: clientId } = request.params as { readonly client_id: string };
  if (!isReferenceId(clientId)) throw noClient();
  return clientId;
}

/** @throws ApiError NOT_FOUND */
export async function getClient(database: Database, clientId: string): Promise<ClientRecord> {
  const client = await findClient(database, clientId);
  if (client === null) throw noClient();
  return client;
}

export const noClient = (): ApiError =>
  new ApiError('NOT_FOUND', {
    message: englishOnly('No client has this client_id: GET /operator/v1/clients lists them'),
  });

export interface ManagedChange extends JsonObject {
  readonly client_id: string;
}

/** What a change of one client does, without its record. */
interface ManagedOperation<Change extends ManagedChange> {
  readonly action: string;
  /**
   * Resolves to the `data` of the answer, and to what was changed where that is not the client itself. A secret belongs
   * into `data` and nowhere else. @throws ApiError
   */
  readonly apply: (
    inside: Database,
    change: Change,
  ) => Promise<{ readonly data: object; readonly subjectId?: string | null }>;
}

/**
 * A change of a client by the same functions as `npm run manage -- client`: recorded with what an operator can change
 * about the client before and after.
 */
export const changeOfClient = <Change extends ManagedChange>({
  action,
  apply,
}: ManagedOperation<Change>): GuardedOperation<Change> => ({
  action,

  async lockState(inside, { client_id: clientId }) {
    await lockManagedState(inside, clientId);
    const state = await findManagedState(inside, clientId);
    if (state === null) throw noClient();
    return state;
  },

  async execute(inside, change, reason) {
    const { client_id: clientId } = change;
    await lockManagedState(inside, clientId);
    const before = await findManagedState(inside, clientId);
    if (before === null) throw noClient();
    const { data, subjectId = null } = await apply(inside, change);
    const after = await findManagedState(inside, clientId);
    const record = { action, clientId, subjectId, reason, before, after };
    return { result: JSON.stringify(data), record: before === after ? null : record };
  },
});

/** The names of limits in JSON. */
export const LIMIT_FIELDS = {
  'check-status': 'check_status_per_minute',
  'check-account': 'check_account_per_minute',
  'accounts-per-day': 'accounts_per_day',
} as const satisfies Record<ClientLimit, string>;

export const clientJson = ({ clientId, name, scopes, limits, trusted, disabled }: ClientRecord) => ({
  client_id: clientId,
  name,
  scopes,
  limits: Object.fromEntries(CLIENT_LIMITS.map((limit) => [LIMIT_FIELDS[limit], limits[limit] ?? null])),
  trusted,
  disabled,
});

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const limit = (description: string) =>
  nullable(Type.Integer({ minimum: 0, examples: [600] }), `${description} null for the default.`);

export const limitSchemas: TProperties = {
  check_status_per_minute: limit('Status checks per minute.'),
  check_account_per_minute: limit('Account checks per minute.'),
  accounts_per_day: limit('Different accounts that it may check in a day.'),
};

export const clientIdSchema = text('The client.', 'shop-one');

export const ScopesSchema = Type.Array(Type.Enum([...SCOPES], { title: 'Scope' }), {
  description:
    'What its tokens may be used for. Of the scopes for the operator listener, a caller gives only those that it ' +
    'could use itself, and no person gives `feed:write`.',
  minItems: 1,
  uniqueItems: true,
  examples: [['status:read', 'transactions:read']],
});

export const clientFields: TProperties = {
  client_id: clientIdSchema,
  name: text('Its name.', 'Shop One'),
  scopes: Type.Array(text('A scope.', 'status:read')),
  limits: Type.Object(limitSchemas, { title: 'ClientLimits', additionalProperties: false }),
  trusted: Type.Boolean({ description: 'Exempt from the enumeration guard, except for `accounts_per_day`.' }),
  disabled: Type.Boolean({ description: 'Whether its requests are refused.' }),
};

export const ClientSchema = Type.Object(clientFields, { title: 'OperatorClient', additionalProperties: false });
