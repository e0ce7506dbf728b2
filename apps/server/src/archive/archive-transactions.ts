import {
  type ArchivedEvent,
  type ArchiveFile,
  type ArchivePosition,
  announceArchiveFiles,
  beginArchive,
  claimRemovableArchiveFiles,
  completeArchiveFiles,
  forgetArchiveFile,
  listArchiveFiles,
  listArchivePositions,
  listEventsToArchive,
  type NewArchiveFile,
} from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import type { HeldLease } from '../postgres/leases.ts';
import { readHistories } from '../postgres/transaction-histories.ts';
import {
  hasChecksums,
  nameArchiveFile,
  removeArchiveFile,
  removeChecksums,
  writeArchiveFile,
  writeChecksums,
} from './archive-directory.ts';
import { toArchiveLine } from './archive-line.ts';
import { requireMarkedArchive } from './archive-marker.ts';

export interface ArchiveRun {
  readonly database: Database;
  readonly directory: string;
  /** Events from before then are archived with what their transactions are. */
  readonly before: Date;
  readonly lease: HeldLease;
  readonly signal: AbortSignal;
  readonly onFiles?: (files: readonly ArchiveFile[]) => void;
  /** The transactions of a client could not be archived; the run goes on with the next client. */
  readonly onClientError: (clientId: string, error: unknown) => void;
  /** After each range of events: how long it took. */
  readonly pause?: (durationMs: number) => Promise<void>;
  /** Smaller in tests. */
  readonly eventsMax?: number;
}

export interface ArchiveResult {
  readonly transactions: number;
  readonly files: number;
  /** The clients of which not all was archived, because of an error. */
  readonly failedClients: number;
  /** False when the run was stopped, or another process took the lease. */
  readonly isComplete: boolean;
}

/** In the files of one range. A file of a month is a few megabytes then. */
const EVENTS_MAX = 20_000;
/** Histories in memory at a time. */
const HISTORIES_MAX = 200;
const CLIENTS_MAX = 100;

/**
 * Archives the transactions that ended or were reversed by events from before then: for each client in the order of its
 * events, a range at a time. The files of a range are announced, written, and then counted together with the position
 * of the client, so that a process that is killed at any moment leaves the archive as it was after its last range.
 */
export async function archiveTransactions(run: ArchiveRun): Promise<ArchiveResult> {
  const { database, directory, before, signal } = run;
  const result = { transactions: 0, files: 0, failedClients: 0, isComplete: true };
  // Before everything that can fail: without it, the retention removes what no archive has.
  await beginArchive(database);
  if (!(await run.lease.hold())) return { ...result, isComplete: false };
  // A disk that is not mounted: files would fill the one below.
  await requireMarkedArchive(database, directory);
  await removeUncounted(database, directory);
  try {
    for await (const position of positionsToArchive(database, before)) {
      try {
        for await (const written of archiveClient(run, position)) {
          result.transactions += written.reduce((sum, file) => sum + file.transactions, 0);
          result.files += written.length;
          run.onFiles?.(written);
        }
      } catch (error) {
        result.failedClients += 1;
        run.onClientError(position.clientId, error);
      }
      if (signal.aborted || !(await run.lease.hold())) {
        result.isComplete = false;
        break;
      }
    }
  } finally {
    // Beside the next holder, the list could lack a file that is being counted, and that holder would find a list.
    if (!(await hasChecksums(directory)) && (await run.lease.hold())) {
      await writeChecksums(directory, listArchiveFiles(database, { clientId: null, month: null }));
    }
  }
  return result;
}

async function* positionsToArchive(database: Database, before: Date): AsyncGenerator<ArchivePosition> {
  let afterClientId = '';
  for (;;) {
    const positions = await listArchivePositions(database, before, { afterClientId, limit: CLIENTS_MAX });
    yield* positions;
    const last = positions[CLIENTS_MAX - 1];
    if (last === undefined) return;
    afterClientId = last.clientId;
  }
}

/** Yields the files of each range. Returns early when the run is stopped or the client was archived by another one. */
async function* archiveClient(run: ArchiveRun, start: ArchivePosition): AsyncGenerator<ArchiveFile[]> {
  const { database, before, signal, eventsMax = EVENTS_MAX } = run;
  let position = start;
  while (!signal.aborted && (await run.lease.hold())) {
    const startedMs = performance.now();
    const events = until(before, await listEventsToArchive(database, position, eventsMax));
    const last = events.at(-1);
    if (last === undefined) return;
    const files = await writeRange(run, position, events);
    if (files.length > 0) await removeChecksums(run.directory);
    if (!(await completeArchiveFiles(database, run.lease, position, { newArchivedUpTo: last.sequence, files }))) {
      for (const file of files) await removeArchiveFile(run.directory, file);
      return;
    }
    yield files;
    position = { clientId: start.clientId, archivedUpTo: last.sequence };
    await run.pause?.(performance.now() - startedMs);
  }
}

/** Events are archived in order, so a younger one ends the range. */
function until(before: Date, events: readonly ArchivedEvent[]): readonly ArchivedEvent[] {
  const end = events.findIndex(({ occurredAt }) => occurredAt >= before);
  return end === -1 ? events : events.slice(0, end);
}

/** One file for each month in which transactions of these events ended. */
async function writeRange(
  run: ArchiveRun,
  { clientId }: ArchivePosition,
  events: readonly ArchivedEvent[],
): Promise<ArchiveFile[]> {
  const { database, directory } = run;
  const months = new Map<string, Set<string>>();
  for (const { transactionId, processedAt } of events) {
    if (transactionId === null || processedAt === null) continue;
    const month = processedAt.toISOString().slice(0, 7);
    months.set(month, (months.get(month) ?? new Set<string>()).add(transactionId));
  }
  const lastSequence = events.at(-1)?.sequence ?? 0;
  const planned = [...months].map(([month, ids]) => ({
    file: nameArchiveFile(clientId, month, lastSequence),
    ids: [...ids],
  }));
  const announced = planned.map(({ file }) => file);
  if (announced.length > 0) await announceArchiveFiles(database, announced);
  const files: ArchiveFile[] = [];
  for (const { file, ids } of planned) files.push(await writeArchiveFile(directory, file, linesOf(run, file, ids)));
  return files;
}

async function* linesOf(
  { database, lease }: ArchiveRun,
  { clientId }: NewArchiveFile,
  transactionIds: readonly string[],
): AsyncGenerator<string> {
  for (let from = 0; from < transactionIds.length; from += HISTORIES_MAX) {
    // A long file must not outlive the lease.
    await lease.hold();
    const histories = await readHistories(database, clientId, transactionIds.slice(from, from + HISTORIES_MAX));
    for (const history of histories) yield toArchiveLine(history);
  }
}

/** Deletes what a killed process left: files that were announced and not counted, and files that were replaced. Each is
 * claimed before, so that a process that only hung cannot count it any more. */
export async function removeUncounted(database: Database, directory: string): Promise<void> {
  for (;;) {
    const files = await claimRemovableArchiveFiles(database);
    if (files.length === 0) return;
    for (const file of files) {
      await removeArchiveFile(directory, file);
      await forgetArchiveFile(database, file);
    }
  }
}
