import type { CallbackEndpoint } from '../../postgres/callback-endpoints.ts';

/** An endpoint as its client sees it. The secret is not in it: it is shown once, and not here. */
export const endpointView = (endpoint: CallbackEndpoint): Record<string, unknown> => ({
  endpoint_id: endpoint.endpointId,
  url: endpoint.url,
  kinds: endpoint.kinds,
  status: endpoint.disabledAt === null ? 'enabled' : 'disabled',
  disabled_reason: endpoint.disabledReason,
  failing_since: endpoint.failingSince,
  created_at: endpoint.createdAt,
});
