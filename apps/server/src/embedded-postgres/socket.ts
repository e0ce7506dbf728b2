import { chmod, lchown, lstat, mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { codeOf } from './error.ts';
import { listClosedDirectories } from './launcher.ts';
import { serverNameOf } from './postmaster.ts';
import type { ServerUser } from './server-user.ts';

export interface SocketDirectory {
  /** The directory in which the server creates its socket: the `host` of a connection. */
  readonly path: string;
  /** Removes the files that a killed server left in it. */
  clear(): Promise<void>;
  remove(): Promise<void>;
}

/** Without TCP, the port is only a part of the socket's name, `.s.PGSQL.5432`. */
export const port = 5432;

// The maximum length of a socket's path, without its final zero byte, in sockaddr_un of macOS (104); Linux has 108.
const socketPathBytesMax = 103;

/** The temporary directory for the socket directory: its path is short enough for a socket, and `user` can enter it. */
export async function chooseSocketBase(dataDirectory: string, user: ServerUser | null): Promise<string> {
  const base = await realpath(tmpdir());
  const longest = join(base, `${prefixOf(dataDirectory)}XXXXXX`, 's', `.s.PGSQL.${port}`);
  const fits = Buffer.byteLength(longest) <= socketPathBytesMax;
  const open = user === null || (await listClosedDirectories([base], user)).length === 0;
  return fits && open ? base : await realpath('/tmp');
}

/**
 * Creates a directory that only Tiba's user, root and the server's user can enter: the inner one belongs to the
 * server's user and has mode 0700. When the server can enter closed directories, the outer one keeps out even other
 * processes of the server's user, because a login to that server can read every file (launcher.ts).
 */
export async function makeSocketDirectory(
  base: string,
  dataDirectory: string,
  user: ServerUser | null,
  passesClosedDirectories: boolean,
): Promise<SocketDirectory> {
  const outer = await mkdtemp(join(base, prefixOf(dataDirectory)));
  const path = join(outer, 's');
  await mkdir(path, { mode: 0o700 });
  if (user !== null) {
    await lchown(path, user.uid, user.gid);
    if (!passesClosedDirectories) await chmod(outer, 0o711);
  }
  return {
    path,
    async clear() {
      for (const name of await readdir(path)) await rm(join(path, name), { force: true });
    },
    remove: () => rm(outer, { recursive: true, force: true }),
  };
}

/**
 * Removes the socket directories that killed Tibas left. Their names show which data directory they belonged to, so the
 * caller must hold its lock and have stopped its server. Any user can create such a name in a temporary directory: only
 * those of this user are removed, except the one with `socket`, which is the caller's.
 */
export async function removeLeftoverSocketDirectories(
  dataDirectory: string,
  lastSocket: string | null,
  socket: string | null = null,
): Promise<void> {
  const own = socket === null ? null : dirname(socket);
  const bases = new Set([tmpdir(), '/tmp', ...(lastSocket === null ? [] : [dirname(dirname(lastSocket))])]);
  for (const base of bases) {
    for (const name of await readdir(base).catch(() => [])) {
      const left = join(base, name);
      if (name.startsWith(prefixOf(dataDirectory)) && left !== own) await removeIfOwn(left);
    }
  }
}

async function removeIfOwn(path: string): Promise<void> {
  try {
    const { uid } = await lstat(path);
    if (uid === process.geteuid?.()) await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function prefixOf(dataDirectory: string): string {
  return `${serverNameOf(dataDirectory)}-`;
}

/** For `pg`. It is complete, so that PGPORT, PGSSLMODE or PGPASSWORD of the environment have no effect. */
export function clientConfig(socketDirectory: string, database: string) {
  return {
    host: socketDirectory,
    port,
    user: 'tiba',
    password: '',
    database,
    ssl: false,
    application_name: 'tiba-start',
    connectionTimeoutMillis: 5_000,
  };
}

/** In the form of DATABASE_URL, for `pg` and every program that uses libpq. */
export function connectionStringOf(socketDirectory: string): string {
  return `postgresql://tiba@/tiba?host=${encodeURIComponent(socketDirectory)}&port=${port}&sslmode=disable`;
}

/**
 * Creates the database `tiba` if it does not exist. Needed at every start: the first start may have been killed before.
 */
export async function ensureDatabase(socketDirectory: string): Promise<void> {
  const client = new Client(clientConfig(socketDirectory, 'postgres'));
  // Without a listener, losing the idle connection would end this process.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = 'tiba'");
    if (rowCount === 0) await client.query('CREATE DATABASE tiba');
  } finally {
    await client.end().catch(() => {});
  }
}
