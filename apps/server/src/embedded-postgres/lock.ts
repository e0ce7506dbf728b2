import { accessSync, chmodSync, constants } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { EmbeddedPostgresError } from './error.ts';

export interface DataDirectoryLock {
  release(): void;
}

// Result code SQLITE_BUSY: https://sqlite.org/rescode.html
const sqliteBusy = 5;

/**
 * Locks the data directory, by default with the file `<data directory>.lock`, for as long as this process lives, so
 * that two Tibas never use one data directory.
 *
 * The lock must not become stale when a process is killed. A file with a process id does: ids are reused. The kernel's
 * file locks end with their holder, but Node offers none. SQLite takes one for an exclusive transaction, also against
 * other connections of the same process, so an empty SQLite file serves as the lock; nothing is stored in it.
 */
export function lockDataDirectory(dataDirectory: string, path = `${dataDirectory}.lock`): DataDirectoryLock {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(path);
    // In memory: otherwise SQLite leaves an empty journal file next to the lock when the process is killed.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    // SQLite opens a file without write permission for reading, and then an exclusive transaction excludes no process.
    accessSync(path, constants.W_OK);
    // A user who can read the file could lock it too.
    chmodSync(path, 0o600);
    const held = database;
    return { release: () => held.close() };
  } catch (cause) {
    database?.close();
    throw cause instanceof Error && 'errcode' in cause && cause.errcode === sqliteBusy
      ? inUse(dataDirectory)
      : new EmbeddedPostgresError('NO_ACCESS', `Cannot lock ${path}. Can this user write there?`, { cause });
  }
}

export function inUse(dataDirectory: string, detail = ''): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'IN_USE',
    `Another Tiba is already running on the data directory ${dataDirectory}${detail}. ` +
      'Stop it, or choose another TIBA_DATA_DIR.',
  );
}
