import type { FastifyRequest } from 'fastify';
import type { EndpointKey } from '../../postgres/delivery-jobs.ts';
import { callerOf } from '../authorize.ts';
import { ApiError, foundOr } from '../errors.ts';

const ENDPOINT_ID = /^ep_[0-9a-f]{20}$/;

export const isEndpointId = (text: string): boolean => ENDPOINT_ID.test(text);

/** The endpoint that the path names, as one of the caller's. @throws ApiError ENDPOINT_NOT_FOUND for what cannot be one. */
export function endpointInPath(request: FastifyRequest): EndpointKey {
  const { endpoint_id: endpointId = '' } = request.params as { readonly endpoint_id?: string };
  if (!isEndpointId(endpointId)) throw new ApiError('ENDPOINT_NOT_FOUND');
  request.logFields = { endpoint: endpointId };
  return { clientId: callerOf(request).client.clientId, endpointId };
}

/** @throws ApiError ENDPOINT_NOT_FOUND: for another client's endpoint as for none. */
export const found = foundOr('ENDPOINT_NOT_FOUND');
