import { createHash } from 'node:crypto';
import path from 'node:path';
import type { EventCursor } from '../../../client/src/index.ts';
import type { Environment } from '../environment.ts';
import { CommandError } from '../errors.ts';
import { readPrivateJson, writePrivateJson } from './files.ts';
import type { ChosenLogin } from './profiles.ts';

/** Up to where one listener has processed the events, kept over its restarts. */
export interface CursorStore {
  /** Null before the first start. @throws CommandError when the file is damaged */
  load(): StoredCursor | null;
  /**
   * Null: before the first event that the service has. The file is written at most once a second, because it is waited
   * for: after a crash the events of the last second come again.
   * @throws CommandError when the file cannot be written
   */
  save(cursor: EventCursor | null): void;
  /** Writes what was saved last. @throws CommandError when the file cannot be written */
  close(): void;
}

export interface StoredCursor {
  readonly cursor: EventCursor | null;
  readonly storedAt: string;
}

const WRITE_MS_MIN = 1_000;
const ADVICE = 'Start with --after and the last event that you have processed. Deleting the file would skip events.';

/**
 * Each service, client ID and target has a cursor of its own: what was printed on a terminal has not been forwarded.
 */
export function openCursor(environment: Environment, { profile }: ChosenLogin, target: string): CursorStore {
  const subject = { url: profile.url, client_id: profile.client_id, target };
  const hash = createHash('sha256')
    .update(JSON.stringify(Object.values(subject)))
    .digest('hex')
    .slice(0, 16);
  const file = path.join(environment.stateDirectory, 'listen', `${hash}.json`);
  let unwritten: object | null = null;
  let writtenMs = -WRITE_MS_MIN;
  let timer: NodeJS.Timeout | null = null;
  function write(): void {
    clearTimeout(timer ?? undefined);
    timer = null;
    if (unwritten === null) return;
    writePrivateJson(file, unwritten);
    unwritten = null;
    writtenMs = performance.now();
  }
  function writeLater(): void {
    try {
      write();
    } catch {
      // The next event, or the end, tries again and fails with the reason.
    }
  }
  return {
    load() {
      const stored = readPrivateJson(file, ADVICE);
      if (stored === null) return null;
      if (!isStored(stored))
        throw new CommandError('error', `${file} is damaged: it has no cursor`, { advice: ADVICE });
      const { sequence, event_id, stored_at: storedAt } = stored;
      return { cursor: sequence === null ? null : { sequence, event_id }, storedAt };
    },
    save(cursor) {
      const { sequence = null, event_id } = cursor ?? {};
      unwritten = { ...subject, sequence, event_id, stored_at: new Date().toISOString() };
      const waitMs = writtenMs + WRITE_MS_MIN - performance.now();
      if (waitMs <= 0) write();
      else timer ??= setTimeout(writeLater, waitMs);
    },
    close: write,
  };
}

interface CursorFile {
  readonly sequence: number | null;
  readonly event_id?: string;
  readonly stored_at: string;
}

function isStored(stored: unknown): stored is CursorFile {
  if (typeof stored !== 'object' || stored === null) return false;
  const { sequence, event_id: eventId, stored_at: storedAt } = stored as Record<string, unknown>;
  const hasId = eventId === undefined || typeof eventId === 'string';
  return (sequence === null || Number.isSafeInteger(sequence)) && hasId && typeof storedAt === 'string';
}
