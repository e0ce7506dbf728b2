import { Type } from 'typebox';
import { EVENT_KINDS } from '../../domain/event.ts';
import { URL_LENGTH_MAX } from '../../outbound/destination.ts';
import { DISABLED_REASONS } from '../../postgres/callback-endpoints.ts';
import { nullable, Timestamp } from '../schemas.ts';

/** Shapes that the operations on endpoints share. */

export const EndpointId = Type.String({ pattern: '^ep_[0-9a-f]{20}$', examples: ['ep_5f0c1d2e3b4a59687786'] });

export const Url = Type.String({
  description: 'Where callbacks are sent: https, a public host, no user name or fragment.',
  maxLength: URL_LENGTH_MAX,
  examples: ['https://callbacks.example.com/tiba'],
});

export const Kinds = Type.Array(Type.Enum([...EVENT_KINDS]), {
  description: 'What it is told of.',
  minItems: 1,
  uniqueItems: true,
});

export const Secret = Type.String({
  description: 'Signs its callbacks (Standard Webhooks). Shown this once: keep it.',
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
});

const endpointFields = {
  endpoint_id: EndpointId,
  url: Url,
  kinds: Kinds,
  status: Type.Enum(['enabled', 'disabled'], { description: 'Nothing is sent while it is disabled.' }),
  disabled_reason: nullable(
    Type.Enum([...DISABLED_REASONS]),
    'client: you did. gone: it answered 410. failing: nothing was delivered for five days. null while enabled.',
  ),
  failing_since: nullable(Timestamp, 'Since when no delivery has succeeded.'),
  created_at: Timestamp,
};

export const EndpointSchema = Type.Object(endpointFields, { additionalProperties: false });

export const EndpointWithSecretSchema = Type.Object(
  { ...endpointFields, secret: Secret },
  { additionalProperties: false },
);

export const onCallbacks = { tags: ['Callbacks'], security: [{ bearer: ['callbacks:manage'] }] };

export const endpointInPathSchema = Type.Object({ endpoint_id: EndpointId });
