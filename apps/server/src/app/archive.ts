import { startArchive } from '../archive/archive-schedule.ts';
import { hasArchive } from '../postgres/archive-files.ts';
import type { Database } from '../postgres/database.ts';
import type { AppContext } from './app-context.ts';

/** Archives finished transactions where the operator has set a directory. A paused service archives nothing. */
export async function openArchive(context: AppContext, database: Database): Promise<void> {
  const { options, metrics, onClose } = context;
  const { archiveDirectory, archiveDays, paused } = options.settings;
  const { log } = options.logging;
  if (paused) return;
  if (archiveDirectory === null) {
    if (await hasArchive(database)) {
      log.warn(
        'there is an archive and TIBA_ARCHIVE_DIRECTORY is not set; the retention waits until it is set, or until ' +
          'manage archive end',
      );
    }
    return;
  }
  // An archive that cannot be written is noticed some hours after the start (TibaArchiveBehind).
  metrics.gauges.archiveCompleted.setToCurrentTime();
  const { stop } = startArchive({
    database,
    directory: archiveDirectory,
    days: archiveDays,
    onFiles(files) {
      metrics.archivedTransactions.inc(files.reduce((sum, { transactions }) => sum + transactions, 0));
    },
    onComplete: () => metrics.gauges.archiveCompleted.setToCurrentTime(),
    log,
  });
  onClose('archive', stop);
}
