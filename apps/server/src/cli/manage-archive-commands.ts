import { adoptFiles } from '../archive/adopt-files.ts';
import { isAccessDenied, isDirectory } from '../archive/archive-directory.ts';
import { requireArchive } from '../archive/archive-marker.ts';
import { endOfArchive, withArchiveLease } from '../archive/archive-schedule.ts';
import { archiveTransactions } from '../archive/archive-transactions.ts';
import { restoreArchive } from '../archive/restore-archive.ts';
import { verifyArchive } from '../archive/verify-archive.ts';
import type { Settings } from '../config/config.ts';
import { StartError } from '../lib/start-error.ts';
import {
  type ArchiveFile,
  type ArchiveFilter,
  adoptArchiveFile,
  countArchivedClients,
  endArchive,
  listArchiveFiles,
  releaseRetention,
} from '../postgres/archive-files.ts';
import { type Database, readDatabaseTime } from '../postgres/database.ts';
import { type NewOperatorAction, recordingAction } from '../postgres/operator-actions.ts';
import { type Command, type CommandContext, type CommandResult, type Options, UsageError } from './manage-command.ts';

const FILTER_OPTIONS = ['client', 'month'] as const;

/** The archive of finished transactions (docs/operating.md, "The archive"). */
export const ARCHIVE_COMMANDS: Readonly<Record<string, Command>> = {
  'archive run': {
    summary: 'write the transactions that are old enough to the archive now',
    description: 'The service does the same every ten minutes. Stopped at any time, it goes on when it is run again.',
    options: [],
    recordsItself: true,
    run: runArchive,
  },

  'archive list': {
    summary: 'list the files of the archive with their checksums (SHA-256)',
    options: FILTER_OPTIONS,
    readOnly: true,
    async run(database, _id, options) {
      const files = await Array.fromAsync(listArchiveFiles(database, readFilter(options)));
      return {
        document: { files: files.map(fileDocument) },
        text: files.length === 0 ? 'The archive has no such files.' : files.map(describeFile).join('\n'),
      };
    },
  },

  'archive verify': {
    summary: 'read the files of the archive and compare them with their checksums',
    options: FILTER_OPTIONS,
    readOnly: true,
    run: verify,
  },

  'archive restore': {
    summary: 'bring transactions back from the archive, with their history',
    description: 'What is there is not changed. Repeated, it brings back what is still missing.',
    options: [...FILTER_OPTIONS, 'hold-hours', 'reason'],
    recordsItself: true,
    run: restore,
  },

  'archive adopt': {
    summary: 'after a restored backup: let files count that took the place of missing ones',
    description: 'An erasure in the lost time replaced them (docs/backup.md). Repeat the erasure afterwards.',
    options: ['reason'],
    recordsItself: true,
    run: adopt,
  },

  'archive release': {
    summary: 'end the hold of the retention that a restore began',
    description: 'What was restored and is old enough is then deleted again.',
    options: ['reason'],
    recordsItself: true,
    run: release,
  },

  'archive end': {
    summary: 'archive no longer: the retention waits for the archive no more',
    description: 'First unset TIBA_ARCHIVE_DIRECTORY in all processes, and here. The files and their list stay.',
    options: ['reason'],
    recordsItself: true,
    run: end,
  },
};

async function runArchive(
  database: Database,
  _id: string,
  _options: Options,
  settings: Settings,
  { print }: CommandContext,
): Promise<CommandResult> {
  const directory = await requireExisting(database, settings);
  const before = endOfArchive(await readDatabaseTime(database), settings.archiveDays);
  let written = 0;
  const onFiles = (range: readonly ArchiveFile[]): void => {
    written += range.reduce((sum, each) => sum + each.transactions, 0);
    print(`${written} transactions archived`);
  };
  const { signal } = new AbortController();
  const onClientError = (clientId: string, error: unknown): void => {
    // No client can be archived then, and repeating it does not help.
    if (isAccessDenied(error)) throw error;
    print(`${clientId}: ${error instanceof Error ? error.message : String(error)}`);
  };
  const { transactions, files, isComplete, failedClients } = await withArchiveLease(database, (lease) =>
    archiveTransactions({ database, directory, before, lease, signal, onFiles, onClientError }),
  );
  if (failedClients > 0) {
    throw new StartError(`transactions of ${failedClients} clients could not be archived: see above, and repeat it`);
  }
  if (!isComplete && files === 0) {
    throw new UsageError('another process archives at this moment: nothing was done. Repeat it in a minute');
  }
  const until = before.toISOString().slice(0, 7);
  return {
    document: { transactions, files, before: before.toISOString(), is_complete: isComplete },
    text:
      `${transactions} transactions are in ${files} new files: ` +
      `those whose end was recorded before ${until} are archived.`,
  };
}

async function verify(
  database: Database,
  _id: string,
  options: Options,
  settings: Settings,
  { print }: CommandContext,
): Promise<CommandResult> {
  const directory = await requireExisting(database, settings);
  const report = await verifyArchive(database, directory, readFilter(options), everyHundredth(print, 'files read'));
  const { files, transactions, faults, unknown } = report;
  const extra = unknown.length === 0 ? '' : ` ${unknown.length} other files do not count: ${unknown.join(', ')}.`;
  if (faults.length > 0) {
    throw new StartError(
      `${faults.length} of ${files} files of the archive are damaged: bring them back from a backup.${extra}\n` +
        faults.join('\n'),
    );
  }
  return {
    document: { files, transactions, unknown },
    text: `${files} files with ${transactions} transactions are whole.${extra}`,
  };
}

const HOLD_HOURS = '24';

async function restore(
  database: Database,
  _id: string,
  options: Options,
  settings: Settings,
  { actor, print }: CommandContext,
): Promise<CommandResult> {
  const filter = readFilter(options);
  if (filter.clientId === null && filter.month === null) throw new UsageError('name --client, --month, or both');
  const holdHours = readHours(options['hold-hours'] ?? HOLD_HOURS);
  const directory = await requireExisting(database, settings);
  const onFile = everyHundredth(print, 'files restored');
  if ((await listArchiveFiles(database, filter).next()).done === true) {
    throw new UsageError('the archive has no such files: list them with archive list');
  }
  const audit = { clientId: filter.clientId, subjectId: filter.month, reason: options.reason ?? null };
  // A restore that fails has brought back a part, and holds the retention.
  await record(database, actor, {
    ...audit,
    action: 'archive restore',
    after: JSON.stringify({ hold_hours: holdHours }),
  });
  const { files, inserted, present, conflicting } = await withArchiveLease(database, (lease) =>
    restoreArchive(database, directory, filter, { holdHours, lease, onFile }),
  ).catch((error: unknown) => {
    print(
      `Transactions that were restored so far hold the retention for ${holdHours} hours, or until archive release.`,
    );
    throw error;
  });
  const document = { files, inserted, present, conflicting, hold_hours: holdHours };
  const after = JSON.stringify({ files, inserted });
  await record(database, actor, { ...audit, action: 'archive restored', after });
  const refused = conflicting.length === 0 ? '' : `\nTheir reference ID is used again: ${conflicting.join(', ')}.`;
  return {
    document,
    text:
      `${inserted} transactions were restored, and ${present} were there. For ${holdHours} hours no retention ` +
      `deletes transactions or their history.${refused}`,
  };
}

const record = (
  database: Database,
  actor: CommandContext['actor'],
  action: Pick<NewOperatorAction, 'action' | 'clientId' | 'subjectId' | 'reason' | 'after'>,
): Promise<null> =>
  recordingAction(database, actor, () => Promise.resolve({ result: null, record: { ...action, before: null } }));

async function adopt(
  database: Database,
  _id: string,
  options: Options,
  settings: Settings,
  { actor }: CommandContext,
): Promise<CommandResult> {
  const directory = await requireExisting(database, settings);
  const reason = options.reason ?? null;
  const adoptOne = (missing: ArchiveFile, file: ArchiveFile): Promise<boolean> =>
    recordingAction(database, actor, async (inside) => {
      const result = await adoptArchiveFile(inside, missing, file);
      const [before, after] = [missing, file].map(({ sha256 }) => JSON.stringify({ sha256 })) as [string, string];
      const action = { action: 'archive adopt', clientId: file.clientId, subjectId: file.path, reason, before, after };
      return { result, record: result ? action : null };
    });
  const { adopted, left } = await withArchiveLease(database, (lease) =>
    adoptFiles({ database, directory, lease, adopt: adoptOne }),
  );
  if (left.length > 0) {
    throw new StartError(
      `${adopted} files count in place of missing ones. Bring back from a backup of the archive:\n${left.join('\n')}`,
    );
  }
  return { document: { files: adopted }, text: `${adopted} files count in place of missing ones.` };
}

async function release(
  database: Database,
  _id: string,
  options: Options,
  _settings: Settings,
  { actor }: CommandContext,
): Promise<CommandResult> {
  const files = await recordingAction(database, actor, async (inside) => {
    const result = await releaseRetention(inside);
    const after = JSON.stringify({ files: result });
    const action = { action: 'archive release', clientId: null, subjectId: null, before: null, after };
    return { result, record: result === 0 ? null : { ...action, reason: options.reason ?? null } };
  });
  return { document: { files }, text: `The retention is no longer held (${files} restored files).` };
}

async function end(
  database: Database,
  _id: string,
  options: Options,
  { archiveDirectory }: Settings,
  { actor }: CommandContext,
): Promise<CommandResult> {
  if (archiveDirectory !== null) {
    throw new UsageError(
      'Nothing was done: TIBA_ARCHIVE_DIRECTORY is set. Unset it in all processes of the service first, and here. ' +
        'A process that has it would begin the archive again, and write some transactions twice',
    );
  }
  const clients = await countArchivedClients(database);
  if (clients > 0) {
    await record(database, actor, {
      action: 'archive end',
      clientId: null,
      subjectId: null,
      reason: options.reason ?? null,
      after: JSON.stringify({ clients }),
    });
  }
  await endArchive(database);
  return { document: { clients }, text: `The retention no longer waits for the archive (${clients} clients).` };
}

function requireDirectory({ archiveDirectory }: Settings): string {
  if (archiveDirectory !== null) return archiveDirectory;
  throw new UsageError('TIBA_ARCHIVE_DIRECTORY is missing: set the same directory as the service');
}

/** An archive on a disk that is not mounted must not look empty. */
export async function requireExisting(database: Database, settings: Settings): Promise<string> {
  const directory = requireDirectory(settings);
  if (!(await isDirectory(directory))) throw new UsageError(`TIBA_ARCHIVE_DIRECTORY is no directory: ${directory}`);
  await requireArchive(database, directory);
  return directory;
}

function readFilter({ client, month }: Options): ArchiveFilter {
  if (month !== undefined && !/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) {
    throw new UsageError('--month takes a year and a month, such as 2026-01');
  }
  return { clientId: client ?? null, month: month ?? null };
}

function readHours(text: string): number {
  const hours = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (hours < 1) throw new UsageError('--hold-hours takes a whole number of hours from 1 to 9999');
  return hours;
}

const everyHundredth =
  (print: (line: string) => void, what: string): ((count: number) => void) =>
  (count) => {
    if (count % 100 === 0) print(`${count} ${what}`);
  };

const fileDocument = ({ clientId, month, path, transactions, bytes, sha256 }: ArchiveFile) => ({
  client_id: clientId,
  month,
  path,
  transactions,
  bytes,
  sha256,
});

const describeFile = ({ clientId, month, path, transactions, bytes, sha256 }: ArchiveFile): string =>
  [clientId, month, transactions, bytes, sha256, path].join('\t');
