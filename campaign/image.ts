import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findFreePort } from '../test/sandbox/production-settings.ts';
import { eventually } from '../test/support/eventually.ts';
import { addNpm, type ImageConfiguration, makeBase, openImages, run } from './image/buildah.ts';
import { type ContainerOptions, runInContainer, startContainer } from './image/container.ts';
import type { Part } from './part.ts';

const READY_WITHIN_MS = 120_000;
const MIB = 1024 * 1024;

/**
 * Builds the image from the Dockerfile, on a Debian that debootstrap makes, and runs its sandbox as the image's user on
 * a read-only root: the README's commands must be answered, and the documentation site must be there. Needs root,
 * buildah and debootstrap; `--seconds` does not apply.
 */
export const image: Part = async ({ seed, signal, print }) => {
  await using closers = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'tiba-image-'));
  closers.defer(() => rm(folder, { recursive: true, force: true }));
  const images = openImages(folder, signal);
  closers.defer(() => images.remove());

  print('making the base');
  const files = path.join(folder, 'base');
  await makeBase(files, signal);
  await images.importBase('tiba-base', files);
  await addNpm(files);
  await images.importBase('tiba-build-base', files);
  print('building the image');
  await images.build('tiba', 'tiba-base', 'tiba-build-base');
  const configuration = await images.configurationOf('tiba');
  const root = await images.mount('tiba');
  const bytes = Number((await run('du', ['--summarize', '--bytes', root])).split('\t')[0]);
  const baseBytes = Number(
    (await run('du', ['--summarize', '--bytes', await images.mount('tiba-base')])).split('\t')[0],
  );

  print('running the sandbox in it');
  const { problems, answers } = await tryImage(folder, root, configuration);
  const findings = [...problemsOf(configuration), ...problems].map((what) => ({ what, seed }));
  return {
    findings,
    figures: {
      'image, MiB': Math.round(bytes / MIB),
      'of these the base, MiB': Math.round(baseBytes / MIB),
      user: configuration.user,
      'README commands answered': answers,
    },
  };
};

function problemsOf({ user, entryPoint, command, healthCheck }: ImageConfiguration): string[] {
  return [
    ...(user === '10001:10001' ? [] : [`the image runs as ${user}`]),
    ...(healthCheck === null ? ['the image has no health check'] : []),
    ...(entryPoint[0] === 'node' && command.join() === 'serve' ? [] : ['the image does not start serve by itself']),
  ];
}

/** Runs the sandbox, the health check, and the README's commands against it. */
async function tryImage(folder: string, root: string, configuration: ImageConfiguration) {
  const dataFolder = path.join(folder, '.tiba');
  await mkdir(dataFolder);
  await chown(dataFolder, ...(configuration.user.split(':').map(Number) as [number, number]));
  const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort()]);
  const [port, operatorPort, snapPort] = ports;
  const options: Omit<ContainerOptions, 'command'> = {
    root,
    user: configuration.user,
    environment: [
      ...configuration.environment,
      `TIBA_PORT=${port}`,
      `TIBA_OPERATOR_PORT=${operatorPort}`,
      `TIBA_SNAP_PORT=${snapPort}`,
    ],
    dataFolder,
  };
  const problems: string[] = [];
  const container = startContainer({ ...options, command: [...configuration.entryPoint, 'sandbox'] });
  try {
    await eventually('the sandbox is ready', () => /Ctrl-C/.test(container.printed()), READY_WITHIN_MS);
    if ((await container.userId()) === 0) problems.push('the service runs as root');
    if (!(await container.hasReadOnlyRoot())) problems.push('the root is writable');
    const health = await runInContainer({ ...options, command: configuration.healthCheck ?? ['false'] });
    if (health !== 0) problems.push(`the health check ended with ${health}`);
    const answers = await pasteReadme(folder, { 8080: port, 8081: operatorPort });
    const failed = answers.filter((answer) => !answer.includes('"success":true'));
    if (failed.length > 0 || answers.length !== 4) problems.push(`README: ${answers.length} answers, ${failed.join()}`);
    problems.push(...(await problemsOfDocs(`http://127.0.0.1:${port}/docs/`)));
    return { problems, answers: answers.length };
  } catch (error) {
    throw new Error(`the image does not work:\n${container.printed()}`, { cause: error });
  } finally {
    const code = await container.stop();
    if (code !== 0) problems.push(`SIGTERM ended it with ${code}`);
  }
}

/** A page, a drawing of it, what it loads, and what it fills in. */
async function problemsOfDocs(base: string): Promise<string[]> {
  const page = await fetch(base);
  const html = await page.text();
  const [, script = 'no script'] = /<script type="module" src="\/docs\/([^"]+)"/.exec(html) ?? [];
  const others = await Promise.all([script, 'service.json', 'llms.txt'].map((file) => fetch(base + file)));
  return [
    ...[page, ...others].filter(({ ok }) => !ok).map(({ url, status }) => `${url} answered ${status}`),
    ...(/<svg[^>]* role="img"/.test(html) ? [] : [`${base} has no drawing`]),
  ];
}

async function pasteReadme(folder: string, ports: Readonly<Record<string, number>>): Promise<string[]> {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const blocks = [...readme.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block);
  const commands = blocks.filter((block) => block.includes('curl')).join('\n');
  const here = commands.replaceAll(/\b(8080|8081)\b/g, (port) => String(ports[port]));
  const script = `cd ${folder}\n${here.replaceAll(/^curl /gm, 'curl -sS -w "\\n" ')}`;
  return (await run('bash', ['-euc', script])).split('\n').filter((line) => line !== '');
}
