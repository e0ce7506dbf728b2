import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { PostgresBinaries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import type { ServerUser } from './server-user.ts';

export interface Command {
  readonly file: string;
  readonly args: string[];
  readonly options: { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number };
}

/** How the programs of PostgreSQL are started: as which user, and with which environment and capabilities. */
export interface Launcher {
  /** True if the server can enter directories that are closed to its user; see {@link chooseLauncher}. */
  readonly passesClosedDirectories: boolean;
  command(program: string, args: readonly string[]): Command;
}

/**
 * The server gets none of Tiba's environment variables: they hold secrets, and PGDATA, PGPORT and others would change
 * its behavior.
 * It starts in `/` because the current directory may be closed to its user.
 */
const baseOptions = { cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

// Only root uses these, and PATH must not choose the program to which root gives privileges.
const setprivPaths = ['/usr/bin/setpriv', '/bin/setpriv', '/run/current-system/sw/bin/setpriv'];

/**
 * Where root has cloned the repository, the clone is often in a directory that the server's user cannot enter (/root
 * has mode 0700). Tiba must not open that directory to every user, so then, and only then, the server gets one
 * capability:
 *
 * - CAP_DAC_READ_SEARCH is the smallest that passes closed directories (capabilities(7)). It allows no writing, but it
 *   does allow reading every file of the machine, so a user who can log in to the server can read as root: for that
 *   reason the socket is then in a directory that only root can enter (socket.ts).
 * - `ambient` and `inheritable` pass it on to a program of an ordinary user; all other capabilities end with the change
 *   of uid. `no-new-privs` keeps set-uid programs from adding any.
 * - `no_setuid_fixup`: without it access(2), with which PostgreSQL looks for its own program, ignores the capabilities
 *   of every user except root.
 */
export async function chooseLauncher(
  user: ServerUser | null,
  binaries: PostgresBinaries,
  directories: readonly string[],
): Promise<Launcher> {
  if (user === null) {
    const command = (file: string, args: readonly string[]) => ({ file, args: [...args], options: baseOptions });
    return { passesClosedDirectories: false, command };
  }
  await requireExecutable(binaries, user);
  const closed = await listClosedDirectories([...directories, binaries.directory], user);
  if (closed.length === 0) {
    const options = { ...baseOptions, uid: user.uid, gid: user.gid };
    const command = (file: string, args: readonly string[]) => ({ file, args: [...args], options });
    return { passesClosedDirectories: false, command };
  }
  const setpriv = await findSetpriv(closed.join(' '), user);
  const privileges = [
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_read_search',
    '--ambient-caps=+dac_read_search',
    '--securebits=+no_setuid_fixup',
    '--no-new-privs',
  ];
  const command = (file: string, args: readonly string[]) => ({
    file: setpriv,
    args: [...privileges, file, ...args],
    options: baseOptions,
  });
  return { passesClosedDirectories: true, command };
}

/** These directories and their parents, as far as `user` may not enter them. */
export async function listClosedDirectories(directories: readonly string[], user: ServerUser): Promise<string[]> {
  const closed = new Set<string>();
  for (const directory of directories) {
    for (let current = directory; ; current = dirname(current)) {
      if (!(await mayExecute(current, user))) closed.add(current);
      if (current === dirname(current)) break;
    }
  }
  return [...closed];
}

/** Looks at the permission bits only: where an access control list differs, PostgreSQL's own log shows the error. */
async function mayExecute(path: string, user: ServerUser): Promise<boolean> {
  const { uid, gid, mode } = await stat(path);
  const executeBit = uid === user.uid ? constants.S_IXUSR : gid === user.gid ? constants.S_IXGRP : constants.S_IXOTH;
  return (mode & executeBit) !== 0;
}

/** The capability lets the user read any file, but execute none: a package installed with umask 077 stays closed. */
async function requireExecutable(binaries: PostgresBinaries, user: ServerUser): Promise<void> {
  if ((await mayExecute(binaries.postgres, user)) && (await mayExecute(binaries.initdb, user))) return;
  throw new EmbeddedPostgresError(
    'NO_ACCESS',
    `PostgreSQL does not run as root, and the user it would run as (uid ${user.uid}) may not execute it. ` +
      `Run: chmod -R go+rX ${dirname(binaries.directory)}`,
  );
}

async function findSetpriv(closed: string, user: ServerUser): Promise<string> {
  const problem =
    `PostgreSQL does not run as root, and the user it would run as (uid ${user.uid}) cannot enter ${closed}. ` +
    'Start Tiba as an ordinary user, or move Tiba or TIBA_DATA_DIR to another directory, or run: ' +
    `chmod o+x ${closed}, or set DATABASE_URL to use your own PostgreSQL`;
  if (!(await canGrantReadSearch())) {
    throw new EmbeddedPostgresError('NO_ACCESS', `${problem}, or give Tiba the capability CAP_DAC_READ_SEARCH.`);
  }
  for (const path of setprivPaths) {
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Not at this path: try the next one.
    }
  }
  throw new EmbeddedPostgresError('NO_ACCESS', `${problem}, or install setpriv (package util-linux).`);
}

/** Containers usually remove capabilities from root; CapEff of proc(5) shows it. Bit numbers of linux/capability.h. */
async function canGrantReadSearch(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const needed = (1n << 2n) | (1n << 8n); // CAP_DAC_READ_SEARCH, and CAP_SETPCAP for the secure bit.
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${effective}`) & needed) === needed;
}
