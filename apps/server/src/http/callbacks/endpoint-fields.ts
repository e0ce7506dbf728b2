import { EVENT_KINDS, type EventKind, isEventKind } from '../../domain/event.ts';
import type { Judgement } from '../../outbound/destination.ts';
import { invalidRequest } from '../query-parameters.ts';

/** @throws ApiError INVALID_REQUEST that says which URL to use instead. */
export async function readUrl(value: unknown, judge: (url: string) => Promise<Judgement>): Promise<string> {
  if (typeof value !== 'string') throw invalidRequest('url must be a string: where callbacks are to be sent');
  const judgement = await judge(value);
  if ('fault' in judgement) throw invalidRequest(`url cannot be used. ${judgement.fault}`);
  // As it will be sent to: the parser has turned other spellings into the usual one.
  return judgement.url.href;
}

/** @throws ApiError INVALID_REQUEST */
export function readKinds(value: unknown): readonly EventKind[] {
  const kinds: readonly unknown[] = Array.isArray(value) ? value : [];
  const known = kinds.filter((kind) => typeof kind === 'string' && isEventKind(kind));
  if (known.length === 0 || known.length < kinds.length || new Set(known).size < known.length) {
    throw invalidRequest(`kinds must be a list of one or more of ${EVENT_KINDS.join(', ')}, none of them twice`);
  }
  return known;
}

/** @throws ApiError INVALID_REQUEST */
export function readDisabled(value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalidRequest('disabled must be true or false');
  return value;
}
