import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { EVENT_KINDS, type EventKind, isEventKind } from '../../domain/event.ts';
import { type DestinationResult, URL_LENGTH_MAX } from '../../outbound/destination.ts';
import { type CallbackEndpoint, DISABLED_REASONS } from '../../postgres/callback-endpoints.ts';
import type { EndpointKey } from '../../postgres/due-endpoints.ts';
import { callerOf } from '../authorize.ts';
import { ApiError, foundOr } from '../errors.ts';
import { EventType } from '../events/schema.ts';
import { invalidRequest } from '../query-parameters.ts';
import { nullable, Timestamp } from '../schemas.ts';

/** A callback endpoint in requests and responses: its schemas, its ID in the path, its fields, its JSON. */

export const EndpointId = Type.String({
  description: 'The ID of a callback endpoint.',
  pattern: '^ep_[0-9a-f]{20}$',
  examples: ['ep_5f0c1d2e3b4a59687786'],
});

export const Url = Type.String({
  description: 'Receives the callbacks: https, a public host, no user name or fragment.',
  format: 'uri',
  maxLength: URL_LENGTH_MAX,
  examples: ['https://callbacks.example.com/tiba'],
});

export const Kinds = Type.Array(EventType, {
  description: 'The kinds of events that are sent to it.',
  minItems: 1,
  uniqueItems: true,
  examples: [['disbursement.succeeded', 'disbursement.failed']],
});

const SECRET_EXAMPLE = 'whsec_VGliYSBleGFtcGxlIHNlY3JldCwgbm90IHJlYWwgMTI=';

export const Secret = Type.String({
  description: 'Signs the callbacks (Standard Webhooks). Shown only in this response: store it.',
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
  examples: [SECRET_EXAMPLE],
});

const endpointFields = {
  endpoint_id: EndpointId,
  url: Url,
  kinds: Kinds,
  status: Type.Enum(['enabled', 'disabled'], {
    title: 'EndpointStatus',
    description: 'Nothing is sent to a disabled endpoint.',
  }),
  disabled_reason: nullable(
    Type.Enum([...DISABLED_REASONS], { title: 'DisabledReason' }),
    'client: disabled by you. operator: disabled by the people who run the service. gone: it answered 410. failing: ' +
      'no delivery succeeded for five days. null while enabled.',
  ),
  failing_since: nullable(Timestamp, 'The first failure since the last successful delivery; null when there is none.'),
  created_at: Timestamp,
};

const ENDPOINT_EXAMPLE = {
  endpoint_id: 'ep_5f0c1d2e3b4a59687786',
  url: 'https://callbacks.example.com/tiba',
  kinds: ['disbursement.succeeded', 'disbursement.failed'],
  status: 'enabled',
  disabled_reason: null,
  failing_since: null,
  created_at: '2026-11-21T04:32:26.123Z',
};

export const EndpointSchema = Type.Object(endpointFields, {
  title: 'CallbackEndpoint',
  additionalProperties: false,
  examples: [ENDPOINT_EXAMPLE],
});

export const EndpointWithSecretSchema = Type.Object(
  { ...endpointFields, secret: Secret },
  {
    title: 'CallbackEndpointWithSecret',
    additionalProperties: false,
    examples: [{ ...ENDPOINT_EXAMPLE, secret: SECRET_EXAMPLE }],
  },
);

export const endpointInPathSchema = Type.Object({ endpoint_id: EndpointId });

const ENDPOINT_ID = /^ep_[0-9a-f]{20}$/;

export const isEndpointId = (text: string): boolean => ENDPOINT_ID.test(text);

/** The caller's endpoint that the path names. @throws ApiError ENDPOINT_NOT_FOUND for a text that is no endpoint ID. */
export function endpointInPath(request: FastifyRequest): EndpointKey {
  const { endpoint_id: endpointId = '' } = request.params as { readonly endpoint_id?: string };
  if (!isEndpointId(endpointId)) throw new ApiError('ENDPOINT_NOT_FOUND');
  request.logFields = { endpoint: endpointId };
  return { clientId: callerOf(request).client.clientId, endpointId };
}

/** @throws ApiError ENDPOINT_NOT_FOUND, the same for another client's endpoint as for an unknown one. */
export const requireEndpoint = foundOr('ENDPOINT_NOT_FOUND');

/** @throws ApiError INVALID_REQUEST with a message that says which URL to use instead. */
export async function readUrl(
  request: FastifyRequest,
  value: unknown,
  validateUrl: (url: string) => Promise<DestinationResult>,
): Promise<string> {
  if (typeof value !== 'string') {
    throw invalidRequest({
      en: 'url must be a string: the address that receives the callbacks',
      id: 'url harus berupa string: alamat yang menerima callback',
    });
  }
  const result = await validateUrl(value);
  if ('fault' in result) {
    // Only the log says whether the name resolved: the client must not learn which names the network has.
    const { fault, resolution } = result;
    if (resolution !== undefined) request.logFields = { ...request.logFields, callbackHost: resolution };
    throw invalidRequest({ en: `url cannot be used. ${fault.en}`, id: `url tidak dapat dipakai. ${fault.id}` });
  }
  // The normalized form, which is the one that callbacks are sent to.
  return result.url.href;
}

/** @throws ApiError INVALID_REQUEST */
export function readKinds(value: unknown): readonly EventKind[] {
  const kinds: readonly unknown[] = Array.isArray(value) ? value : [];
  const known = kinds.filter((kind) => typeof kind === 'string' && isEventKind(kind));
  if (known.length === 0 || known.length < kinds.length || new Set(known).size < known.length) {
    const listed = EVENT_KINDS.join(', ');
    throw invalidRequest({
      en: `kinds must be a list of one or more of ${listed}, without repetition`,
      id: `kinds harus berupa daftar berisi satu atau lebih dari ${listed}, tanpa pengulangan`,
    });
  }
  return known;
}

/** @throws ApiError INVALID_REQUEST */
export function readDisabled(value: unknown): boolean {
  if (typeof value !== 'boolean') {
    throw invalidRequest({ en: 'disabled must be true or false', id: 'disabled harus true atau false' });
  }
  return value;
}

/** The endpoint without its secret, which is shown only when it is created. */
export const endpointToJson = (endpoint: CallbackEndpoint): Record<string, unknown> => ({
  endpoint_id: endpoint.endpointId,
  url: endpoint.url,
  kinds: endpoint.kinds,
  status: endpoint.disabledAt === null ? 'enabled' : 'disabled',
  disabled_reason: endpoint.disabledReason,
  failing_since: endpoint.failingSince,
  created_at: endpoint.createdAt,
});
