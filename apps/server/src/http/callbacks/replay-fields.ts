import { isLosslessNumber } from 'lossless-json';
import { parseInstant } from '../../domain/instant.ts';
import { REPLAYED_STATES, type ReplayRange } from '../../postgres/callback-replays.ts';
import { SEQUENCE_MAX } from '../events/schema.ts';
import { invalidRequest, oneOf, wholeNumber } from '../query-parameters.ts';
import { fieldOf } from './endpoint-fields.ts';

/** @throws ApiError INVALID_REQUEST */
export function readReplay(
  body: Readonly<Record<string, unknown>>,
): Omit<ReplayRange, 'limit'> & { readonly endpointId: string } {
  const endpointId = fieldOf(body, 'endpoint_id');
  if (typeof endpointId !== 'string') throw invalidRequest('endpoint_id must be a string: the endpoint to deliver to');
  const from = readMoment(fieldOf(body, 'from'), 'from');
  const to = readMoment(fieldOf(body, 'to'), 'to');
  if (from >= to) throw invalidRequest('from must be before to');
  const state = oneOf(fieldOf(body, 'state'), REPLAYED_STATES, 'state');
  const after = fieldOf(body, 'after');
  return { endpointId, from, to, state, after: after === undefined ? null : readSequence(after) };
}

function readMoment(value: unknown, name: string): string {
  const moment = typeof value === 'string' ? parseInstant(value) : null;
  if (moment !== null) return moment;
  throw invalidRequest(`${name} must be a time with its zone (RFC 3339), for example 2026-11-21T04:32:26Z`);
}

function readSequence(value: unknown): number {
  // A number of the body that JavaScript might round comes as its text.
  const text = typeof value === 'number' || isLosslessNumber(value) ? value.toString() : '';
  return wholeNumber(text, { name: 'after', min: 1, max: SEQUENCE_MAX, fallback: 1 });
}
