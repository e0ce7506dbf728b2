import { type JsonObject, numberText } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { REPLAYED_STATES, type ReplayRange } from '../../postgres/callback-replays.ts';
import { SEQUENCE_MAX } from '../events/schema.ts';
import { instantParameter, invalidRequest, oneOf, wholeNumber } from '../query-parameters.ts';

/** @throws ApiError INVALID_REQUEST */
export function readReplay(body: JsonObject): Omit<ReplayRange, 'limit'> & { readonly endpointId: string } {
  const endpointId = ownProperty(body, 'endpoint_id');
  if (typeof endpointId !== 'string') throw invalidRequest('endpoint_id must be a string: the endpoint to deliver to');
  const from = instantParameter(ownProperty(body, 'from'), 'from');
  const to = instantParameter(ownProperty(body, 'to'), 'to');
  if (from >= to) throw invalidRequest('from must be before to');
  const state = oneOf(ownProperty(body, 'state'), REPLAYED_STATES, 'state');
  const after = ownProperty(body, 'after');
  return { endpointId, from, to, state, after: after === undefined ? null : readSequence(after) };
}

function readSequence(value: unknown): number {
  // A number of the body that JavaScript might round comes as its text.
  const text = numberText(value) ?? '';
  return wholeNumber(text, { name: 'after', min: 1, max: SEQUENCE_MAX, fallback: 1 });
}
