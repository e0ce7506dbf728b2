import type { Event, EventCursor, TibaError } from '../../../client/src/index.ts';
import { callbackSecret } from '../configuration/callback-secret.ts';
import { type CursorStore, openCursor } from '../configuration/cursors.ts';
import type { Connection } from '../connection.ts';
import { CommandError, reportOf } from '../errors.ts';
import type { ExitCode } from '../exit-codes.ts';
import { duration, localTime } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import { plain } from '../output/style.ts';
import type { Session } from '../session.ts';
import { describeEvent, subjectOf } from './describe-event.ts';
import { findEnd } from './find-end.ts';
import { type Forwarder, forward } from './forward.ts';

export interface ListenOptions {
  readonly forwardTo?: string;
  readonly retry: boolean;
  readonly after?: number;
  readonly fromStart?: boolean;
  /** Seconds. */
  readonly interval: number;
}

/** A connection that is silent for longer counts as lost. */
const ANSWER_MS_MAX = 10_000;

/** Reads events until the person stops it. The cursor moves on only after an event was printed or accepted. */
export async function listen(session: Session, options: ListenOptions): Promise<ExitCode> {
  const { output, signal, environment } = session;
  const target = options.forwardTo === undefined ? null : checkedTarget(options.forwardTo, session);
  const connection = await session.connect();
  const cursors = openCursor(environment, connection.login, target ?? 'terminal');
  const forwarder = target === null ? null : createForwarder(session, target, options.retry);
  const cursor = await firstCursor(session, connection, cursors, options);
  const onRetry = reportConnection(session, connection, cursor);
  const follow = { signal, intervalMs: options.interval * 1_000, timeoutMs: ANSWER_MS_MAX, onRetry };
  try {
    for await (const event of connection.client.events.follow(cursor, follow)) {
      await (forwarder === null ? print(event, output) : forwardAndPrint(event, forwarder, output));
      cursors.save(event);
    }
  } finally {
    cursors.close();
  }
  // `follow` ends only by throwing.
  throw new Error('the events have ended');
}

/** An event that its reader has not got is printed again by the next start. */
function print(event: Event, output: Output): Promise<void> {
  output.result(event, () => describeEvent(event, output));
  return output.written();
}

async function forwardAndPrint(event: Event, forwarder: Forwarder, output: Output): Promise<void> {
  const { status, durationMs } = await forward(event, forwarder);
  output.result(
    { ...event, forwarded: { status, duration_ms: durationMs } },
    () => `${describeEvent(event, output)}  -> ${status ?? 'no answer'} in ${durationMs} ms`,
  );
}

/** Where it goes on: as the person says, after what it has processed before, or after all that has happened so far. */
async function firstCursor(
  { output, signal }: Session,
  connection: Connection,
  cursors: CursorStore,
  { after, fromStart }: ListenOptions,
): Promise<EventCursor | null> {
  const isChosen = fromStart === true || after !== undefined;
  const stored = isChosen ? null : cursors.load();
  if (stored === null) {
    const first = isChosen ? (after === undefined ? null : { sequence: after }) : await findEnd(connection, signal);
    // It may be stopped before the first event is processed, and then goes on here.
    cursors.save(first);
    return first;
  }
  const { cursor, storedAt } = stored;
  if (cursor === null) {
    output.note('going on with the first event', { sequence: 0 });
    return null;
  }
  const { sequence } = cursor;
  const ago = duration(Date.now() - Date.parse(storedAt));
  output.note(`going on after event ${sequence}, which was processed ${ago} ago (${localTime(storedAt)})`, {
    sequence,
  });
  return cursor;
}

/** Says when it is connected: only after the service has answered, and again each time that it was not. */
function reportConnection(
  { output }: Session,
  connection: Connection,
  cursor: EventCursor | null,
): (error: TibaError) => void {
  let connected: boolean | null = null;
  let lostMs = 0;
  connection.onAnswer = ({ ok, url }) => {
    if (!ok || connected === true || !url.includes('/api/v1/events')) return;
    if (connected === null) {
      const { profile } = connection.login;
      output.note(
        `connected to ${plain(profile.url)} as ${plain(profile.client_id)}; ` +
          `waiting for events after ${cursor?.sequence ?? 0}; Ctrl-C ends it`,
        { connected: true },
      );
    } else {
      const away = duration(Date.now() - lostMs);
      output.note(`connected again after ${away}; no event is lost`, { connected: true });
    }
    connected = true;
  };
  return (error) => {
    if (connected === false) return;
    connected = false;
    lostMs = Date.now();
    const { error_code: code, message, advice } = reportOf(error);
    output.note(`not connected: ${code}: ${plain(message)}. ${advice ?? ''} Trying again; no event will be lost`, {
      connected: false,
      error_code: code,
    });
  };
}

function createForwarder({ output, signal, environment }: Session, url: string, retry: boolean): Forwarder {
  const secret = callbackSecret(environment);
  const source =
    environment.callbackSecret === null ? 'the secret of `tiba listen --print-secret`' : 'TIBA_CALLBACK_SECRET';
  output.note(`forwarding to ${plain(url)}; the receiver verifies with ${source}`);
  return {
    url,
    secret,
    retry,
    signal,
    onFailure(event: Event, reason, againInMs) {
      const next = againInMs === null ? 'not sent again' : `sending it again in ${duration(againInMs)}`;
      output.note(`${subjectOf(event)} (event ${event.sequence}): ${plain(url)}: ${plain(reason)}; ${next}`, {
        sequence: event.sequence,
        reason,
        again_in_ms: againInMs,
      });
    },
  };
}

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function checkedTarget(target: string, { output }: Session): string {
  const url = URL.parse(target);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new CommandError('usage', `--forward-to ${plain(target)} is no address`, {
      advice: 'Give one such as http://localhost:9000/tiba.',
    });
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    output.note('warning: events carry names and account numbers, and this address is not encrypted');
  }
  return url.href;
}
