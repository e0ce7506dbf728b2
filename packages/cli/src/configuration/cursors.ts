import { createHash } from 'node:crypto';
import path from 'node:path';
import type { EventCursor } from '../../../client/src/index.ts';
import type { Environment } from '../environment.ts';
import { CommandError } from '../errors.ts';
import { readPrivateJson, writePrivateJson } from './files.ts';
import type { ChosenLogin } from './profiles.ts';

/** Up to where one listener has processed the events, kept over its restarts. */
export interface CursorStore {
  /** Null before the first event. @throws CommandError when the file is damaged */
  load(): StoredCursor | null;
  save(cursor: EventCursor): void;
}

export interface StoredCursor extends EventCursor {
  readonly sequence: number;
  readonly stored_at: string;
}

/**
 * Each service, client ID and target has a cursor of its own: what was printed on a terminal has not been forwarded.
 */
export function openCursor(environment: Environment, { name, profile }: ChosenLogin, target: string): CursorStore {
  const subject = [profile.url, profile.client_id, target];
  const hash = createHash('sha256').update(JSON.stringify(subject)).digest('hex').slice(0, 12);
  const file = path.join(environment.stateDirectory, 'listen', `${name}-${hash}.json`);
  const [url, clientId] = subject;
  return {
    load() {
      const stored = readPrivateJson(file);
      if (stored === null || isCursor(stored)) return stored;
      throw new CommandError('error', `${file} is damaged: it has no cursor`, {
        advice: 'Delete it, and start with --after and the last event that you have processed.',
      });
    },
    save: ({ sequence, event_id: eventId }) =>
      writePrivateJson(
        file,
        { url, client_id: clientId, target, sequence, event_id: eventId, stored_at: new Date().toISOString() },
        { flush: false },
      ),
  };
}

function isCursor(stored: unknown): stored is StoredCursor {
  if (typeof stored !== 'object' || stored === null) return false;
  const { sequence, event_id: eventId, stored_at: storedAt } = stored as Record<string, unknown>;
  const hasId = eventId === undefined || typeof eventId === 'string';
  return Number.isSafeInteger(sequence) && hasId && typeof storedAt === 'string';
}
