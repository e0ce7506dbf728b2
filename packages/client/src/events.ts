import { backoffMs } from './backoff.ts';
import { type Call, toCall } from './call.ts';
import { type Clock, pause } from './clock.ts';
import { TibaError } from './errors.ts';
import type { Event, EventList, Operations } from './generated/api.ts';
import { type CallOptions, isProxyError, PASSING, type Transport } from './transport.ts';

/** The last event that you have processed: every event is a cursor. Store it together with your results. */
export interface EventCursor {
  readonly sequence: number;
  /** Without it a restored service is noticed only when it has fewer events. */
  readonly event_id?: string | undefined;
}

export interface FollowOptions extends CallOptions {
  /** How long to wait when there is no further event; 5 s unless given. */
  readonly intervalMs?: number | undefined;
  /** Called for each failed request, before the next one: while these come, you are not connected. */
  readonly onRetry?: ((error: TibaError) => void) | undefined;
}

export interface Events {
  /** The events after a cursor that are there now, in order; all of them without a cursor. */
  list(after?: EventCursor | null, options?: CallOptions): AsyncGenerator<Event, void, undefined>;
  /**
   * All events after a cursor, in order and without a gap, for as long as you read. It goes on through failures that
   * may pass. It fails with `EVENTS_GAP` or `EVENTS_RESTORED` instead of skipping an event.
   */
  follow(after?: EventCursor | null, options?: FollowOptions): AsyncGenerator<Event, never, undefined>;
  page(query?: Operations['listEvents']['query'], options?: CallOptions): Call<EventList>;
}

const OPERATION = 'listEvents';
const PAGE_MAX = 1_000;
const INTERVAL_MS = 5_000;

export function createEvents(transport: Transport, clock: Clock, random: () => number): Events {
  const page = (query?: Operations['listEvents']['query'], options?: CallOptions): Call<EventList> =>
    toCall(transport.json({ operation: OPERATION, query }, options));

  /** A page that begins with the event of the cursor: it shows that the service is the same. */
  function readFrom(cursor: EventCursor | null, options: CallOptions): Promise<EventList> {
    const after = Math.max(0, (cursor?.sequence ?? 0) - 1);
    return page({ after, limit: PAGE_MAX }, options).catch((error: unknown) => {
      throw error instanceof TibaError && error.status === 410 ? restored(cursor, error) : error;
    });
  }

  return {
    page,
    async *list(after = null, options = {}) {
      for (let cursor = after; ; ) {
        const found = await readFrom(cursor, options);
        for (const event of following(cursor, found.events)) {
          yield event;
          cursor = event;
        }
        if (!found.has_more) return;
      }
    },
    async *follow(after = null, { intervalMs = INTERVAL_MS, onRetry, ...options } = {}) {
      const { signal = new AbortController().signal } = options;
      let failures = 0;
      for (let cursor = after; ; ) {
        const found = await readFrom(cursor, options).catch((error: unknown) => {
          if (!mayPass(error)) throw error;
          onRetry?.(error);
          return error;
        });
        if (found instanceof TibaError) {
          await pause(clock, (found.retryAfterMs ?? 0) + backoffMs(failures, random), signal);
          failures += 1;
          continue;
        }
        failures = 0;
        for (const event of following(cursor, found.events)) {
          // The reader may have stopped at the one before.
          signal.throwIfAborted();
          yield event;
          cursor = event;
        }
        if (!found.has_more) await pause(clock, intervalMs, signal);
      }
    },
  };
}

const mayPass = (error: unknown): error is TibaError =>
  error instanceof TibaError && (PASSING.includes(error.error_code) || isProxyError(error));

/**
 * What comes after the cursor on a page that begins with the cursor's own event.
 * @throws TibaError EVENTS_RESTORED before the first one; EVENTS_GAP after the last one before the gap
 */
function* following(cursor: EventCursor | null, events: readonly Event[]): Generator<Event, void, undefined> {
  const [own] = events;
  const isRead = cursor !== null && cursor.sequence > 0;
  if (isRead && own === undefined) throw restored(cursor);
  const repeated = isRead && own?.sequence === cursor.sequence;
  if (repeated && cursor.event_id !== undefined && own?.event_id !== cursor.event_id) throw restored(cursor);
  let last = cursor?.sequence ?? null;
  for (const event of repeated ? events.slice(1) : events) {
    if (last !== null && event.sequence !== last + 1 && !isFirstAfterRestore(event)) throw gap(last, event.sequence);
    yield event;
    last = event.sequence;
  }
}

/**
 * After a restore the numbers continue above a multiple of this (docs/callbacks.md, "Events"). What was lost with the
 * restore is no gap for a reader that had not read it.
 */
const RESTORE_STEP = 100_000;
/** The multiples are the seconds since 1970, times `RESTORE_STEP`: without a restore no number is so large. */
const RESTORED_MIN = 1e14;

const isFirstAfterRestore = ({ sequence }: Event): boolean => sequence > RESTORED_MIN && sequence % RESTORE_STEP === 1;

const gap = (last: number, next: number): TibaError =>
  new TibaError({
    error_code: 'EVENTS_GAP',
    operation: OPERATION,
    message:
      `event ${next} follows event ${last}: those between are missing. Check the status of your open transactions, ` +
      `then go on from event ${next - 1}`,
  });

const restored = (cursor: EventCursor | null, cause?: unknown): TibaError =>
  new TibaError({
    error_code: 'EVENTS_RESTORED',
    operation: OPERATION,
    message:
      `the service no longer has the event of the cursor (sequence ${cursor?.sequence}): it was restored to an ` +
      'earlier state. Check the status of your open transactions, then continue from the last event that it has, or ' +
      `from the beginning${cause instanceof Error ? `. The service says: ${cause.message}` : ''}`,
    cause,
  });
