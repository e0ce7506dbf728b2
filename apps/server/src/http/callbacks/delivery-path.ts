import type { FastifyRequest } from 'fastify';
import type { DeliveryKey } from '../../postgres/callback-history.ts';
import { callerOf } from '../authorize.ts';
import { ApiError } from '../errors.ts';
import { parseDeliveryId } from './delivery-json.ts';

/** The delivery that the path names, as one of the caller's. @throws ApiError DELIVERY_NOT_FOUND for what cannot be one. */
export function deliveryInPath(request: FastifyRequest): DeliveryKey {
  const { delivery_id: id = '' } = request.params as { readonly delivery_id?: string };
  const parsed = parseDeliveryId(id);
  if (parsed === null) throw new ApiError('DELIVERY_NOT_FOUND');
  request.logFields = { delivery: id };
  return { clientId: callerOf(request).client.clientId, ...parsed };
}
