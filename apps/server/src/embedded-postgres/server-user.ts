import { chmod, lchown, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, EmbeddedPostgresError } from './error.ts';

/** The unprivileged user that the server runs as when Tiba runs as root: PostgreSQL refuses to run as root. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user who runs the server; null is Tiba's own user. When Tiba runs as root: the owner of an existing data
 * directory, so that a user's directory stays that user's; otherwise the account `postgres`, which exists for this;
 * otherwise `nobody`.
 */
export async function chooseServerUser(dataDirectory: string): Promise<ServerUser | null> {
  const ownUid = process.geteuid?.();
  const owner = await findOwner(dataDirectory);
  if (ownUid !== 0) {
    if (owner === null || owner === ownUid) return null;
    throw new EmbeddedPostgresError(
      'NO_ACCESS',
      `The data directory ${dataDirectory} belongs to another user (uid ${owner}), probably because Tiba was once ` +
        'started as root. Start Tiba as that user, change the owner, or choose another TIBA_DATA_DIR.',
    );
  }
  const accounts = await readAccounts();
  if (owner !== null && owner !== 0) {
    return { uid: owner, gid: [...accounts.values()].find(({ uid }) => uid === owner)?.gid ?? owner };
  }
  const account = accounts.get('postgres') ?? accounts.get('nobody');
  if (account !== undefined) return account;
  throw new EmbeddedPostgresError(
    'NO_ACCESS',
    'PostgreSQL does not run as root, and /etc/passwd has neither a user "postgres" nor a user "nobody". ' +
      'Start Tiba as an ordinary user, or set DATABASE_URL to use your own PostgreSQL.',
  );
}

/**
 * Gives the data directory to the server's user with mode 0700, which PostgreSQL requires. The contents change owner
 * only if root owned the directory (a backup that root restored); links are never followed.
 */
export async function chownDataDirectory(dataDirectory: string, user: ServerUser | null): Promise<void> {
  if (user !== null && (await findOwner(dataDirectory)) === 0) {
    for (const name of await readdir(dataDirectory, { recursive: true })) {
      await lchown(join(dataDirectory, name), user.uid, user.gid);
    }
    await lchown(dataDirectory, user.uid, user.gid);
  }
  await chmod(dataDirectory, 0o700);
}

async function findOwner(directory: string): Promise<number | null> {
  try {
    return (await stat(directory)).uid;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** The unprivileged accounts of /etc/passwd (format: passwd(5)), by name. */
async function readAccounts(): Promise<Map<string, ServerUser>> {
  const accounts = new Map<string, ServerUser>();
  for (const line of (await readFile('/etc/passwd', 'utf8')).split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name !== undefined && Number(uid) > 0 && Number(gid) > 0) {
      accounts.set(name, { uid: Number(uid), gid: Number(gid) });
    }
  }
  return accounts;
}
