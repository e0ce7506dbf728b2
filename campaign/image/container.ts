import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

/**
 * Runs a program on the files of an image as a container engine would: as the image's user, on a root that is
 * read-only, with a folder of its own for data. It shares the network of this machine.
 */
export interface Container {
  /** The user ID that the program runs as. */
  userId(): Promise<number>;
  hasReadOnlyRoot(): Promise<boolean>;
  /** SIGTERM. Resolves with the exit code, or the signal that ended it. */
  stop(): Promise<number | string | null>;
  printed(): string;
}

export interface ContainerOptions {
  /** The folder of the image's files. */
  readonly root: string;
  /** As the image says: `uid:gid`. */
  readonly user: string;
  readonly command: readonly string[];
  /** Each as `NAME=value`. */
  readonly environment: readonly string[];
  /** Mounted at /data. */
  readonly dataFolder: string;
}

/** Each mount is seen by this process and its children only, and ends with them. */
const SCRIPT = `
set -eu
root=$1 user=$2 data=$3
shift 3
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$data" "$root/data"
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" "$root" "$@"
`;

export function startContainer(options: ContainerOptions): Container {
  const child = start(options);
  const exited = once(child, 'exit');
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  return {
    userId: async () => Number(/^Uid:\s+(\d+)/m.exec(await readProcess(child, 'status'))?.[1]),
    hasReadOnlyRoot: async () => /^\d+ \d+ \S+ \S+ \/ ro[ ,]/m.test(await readProcess(child, 'mountinfo')),
    async stop() {
      child.kill('SIGTERM');
      const [code, signal] = await exited;
      return code ?? signal;
    },
    printed: () => printed,
  };
}

/** Runs a command in the same way, to its end. Resolves with its exit code. */
export async function runInContainer(options: ContainerOptions): Promise<number | string | null> {
  const child = start(options);
  const [code, signal] = await once(child, 'exit');
  return code ?? signal;
}

function start({ root, user, command, environment, dataFolder }: ContainerOptions): ChildProcessWithoutNullStreams {
  const inRoot = ['/usr/bin/env', '-i', '--chdir=/opt/tiba', ...environment, ...command];
  return spawn('unshare', ['--mount', 'sh', '-c', SCRIPT, 'sh', root, user, dataFolder, ...inRoot]);
}

const readProcess = ({ pid }: ChildProcess, file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'utf8');
