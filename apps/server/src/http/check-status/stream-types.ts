import { preferredOf } from '../media-types.ts';

/** Server-sent events (HTML, section 9.2). */
export const STREAM_TYPES = ['text/event-stream'] as const;

export const prefersStream = (accept: string | undefined): boolean =>
  accept?.includes('event-stream') === true && preferredOf(accept, STREAM_TYPES) !== null;
