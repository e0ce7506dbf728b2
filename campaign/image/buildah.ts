import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Builds the image with buildah, on bases that debootstrap makes: no registry of images is needed. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** What the image's configuration says. */
export interface ImageConfiguration {
  readonly user: string;
  readonly entryPoint: readonly string[];
  readonly command: readonly string[];
  readonly environment: readonly string[];
  /** The command of the health check; null without one. */
  readonly healthCheck: readonly string[] | null;
}

export interface Images {
  /** A base from the files of a folder. */
  importBase(name: string, folder: string): Promise<void>;
  /** Builds the Dockerfile of the repository. */
  build(name: string, base: string, buildBase: string): Promise<void>;
  configurationOf(name: string): Promise<ImageConfiguration>;
  /** The folder of the files of a container of this image. */
  mount(name: string): Promise<string>;
  /** Unmounts and deletes everything. */
  remove(): Promise<void>;
}

const AUTHORITIES = process.env['NODE_EXTRA_CA_CERTS'] ?? '/etc/ssl/certs/ca-certificates.crt';

/** npm's settings of this machine, with the authorities that it trusts. */
async function writeNpmSettings(folder: string): Promise<string> {
  const file = path.join(folder, 'npmrc');
  const own = path.join(process.env['HOME'] ?? '', '.npmrc');
  const settings = existsSync(own) ? await readFile(own, 'utf8') : '';
  await writeFile(file, `${settings}\ncafile=${AUTHORITIES}\n`, { mode: 0o600 });
  return file;
}

interface DockerConfiguration {
  readonly User: string;
  readonly Entrypoint: string[];
  readonly Cmd: string[];
  readonly Env: string[];
  readonly Healthcheck?: { readonly Test: string[] };
}

/** Resolves with its standard output. @throws Error with what the program printed */
export async function run(program: string, args: readonly string[], signal?: AbortSignal): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], {
    cwd: ROOT,
    maxBuffer: OUTPUT_BYTES_MAX,
    ...(signal === undefined ? {} : { signal }),
  });
  return stdout.trim();
}

/** `folder` holds the images: nothing of the machine's own ones is touched. */
export function openImages(folder: string, signal: AbortSignal): Images {
  const storage = [
    '--root',
    path.join(folder, 'images'),
    '--runroot',
    path.join(folder, 'run'),
    '--storage-driver=vfs',
  ];
  const buildah = (...args: readonly string[]): Promise<string> => run('buildah', [...storage, ...args], signal);

  return {
    async importBase(name, files) {
      const container = await buildah('from', 'scratch');
      await buildah('add', '--quiet', container, files, '/');
      await buildah('commit', '--quiet', '--rm', container, name);
    },
    async build(name, base, buildBase) {
      const npmSettings = await writeNpmSettings(folder);
      await buildah(
        'build',
        '--isolation=chroot',
        '--format=docker',
        '--pull-never',
        `--build-arg=BASE=${base}`,
        `--build-arg=BUILD_BASE=${buildBase}`,
        // Only the stage that installs packages sees these.
        `--volume=${npmSettings}:/root/.npmrc:ro`,
        `--volume=${AUTHORITIES}:${AUTHORITIES}:ro`,
        `--tag=${name}`,
        ROOT,
      );
    },
    async configurationOf(name) {
      const { Docker: docker } = JSON.parse(await buildah('inspect', '--type=image', name)) as {
        Docker: { config: DockerConfiguration };
      };
      const { User: user, Entrypoint: entryPoint, Cmd: command, Env: environment, Healthcheck: check } = docker.config;
      return {
        user,
        entryPoint,
        command,
        environment,
        // The first word says that no shell is needed.
        healthCheck: check?.Test[0] === 'CMD' ? check.Test.slice(1) : null,
      };
    },
    mount: async (name) => buildah('mount', await buildah('from', '--pull-never', name)),
    async remove() {
      // Not with the signal: after an interruption, everything must go too.
      const cleanUp = (...args: readonly string[]): Promise<string> => run('buildah', [...storage, ...args]);
      await cleanUp('unmount', '--all');
      await cleanUp('rm', '--all');
    },
  };
}

/** A small Debian. */
export async function makeBase(folder: string, signal: AbortSignal): Promise<void> {
  await run(
    'debootstrap',
    ['--variant=minbase', '--include=libatomic1', 'bookworm', folder, 'http://deb.debian.org/debian'],
    signal,
  );
}

/** Adds what the build stage needs to a base: the Node of this process, and npm. */
export async function addNpm(folder: string): Promise<void> {
  const npm = path.dirname(
    path.dirname(await run('node', ['-p', 'fs.realpathSync(process.argv[1])', await which('npm')])),
  );
  const target = path.join(folder, 'usr/local/lib/npm');
  await mkdir(target, { recursive: true });
  await cp(npm, target, { recursive: true });
  await cp(process.execPath, path.join(folder, 'usr/local/bin/node'));
  await symlink('../lib/npm/bin/npm-cli.js', path.join(folder, 'usr/local/bin/npm'));
}

const which = (program: string): Promise<string> => run('sh', ['-c', `command -v ${program}`]);
