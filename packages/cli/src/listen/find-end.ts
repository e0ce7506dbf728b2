import type { EventCursor } from '../../../client/src/index.ts';
import type { Connection } from '../connection.ts';
import { CommandError, isTibaError } from '../errors.ts';

/** Above every number of an event: the service answers 410 and names the last one (docs/callbacks.md, "Events"). */
const BEYOND_ALL = 999_999_999_999_999;

/** The last event that there is: a first listener begins after it. */
export async function findEnd(connection: Connection, signal: AbortSignal): Promise<EventCursor> {
  const { client } = connection;
  let last: number | null = null;
  connection.onAnswer = ({ status, headers }) => {
    const [, after] = /[?&]after=(\d{1,15})\b/.exec(headers.get('link') ?? '') ?? [];
    if (status === 410 && after !== undefined) last = Number(after);
  };
  try {
    await client.events.page({ after: BEYOND_ALL, limit: 1 }, { signal });
  } catch (error) {
    if (!isTibaError(error) || error.error_code !== 'CURSOR_GONE') throw error;
  } finally {
    connection.onAnswer = () => undefined;
  }
  if (last === null) {
    throw new CommandError('error', 'the service does not say which its last event is', {
      advice: 'Start with --from-start, or with --after and a number.',
    });
  }
  if (last === 0) return { sequence: 0 };
  // With its ID, a service that is restored later is noticed.
  const { events } = await client.events.page({ after: last - 1, limit: 1 }, { signal });
  const [event] = events;
  return event === undefined ? { sequence: last } : { sequence: event.sequence, event_id: event.event_id };
}
