import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { assembleSite, type Site } from './assemble.ts';

/** `npm run docs`: builds the documentation site into docs/site/dist, from where the service serves it. */

const root = fileURLToPath(new URL('../../', import.meta.url));
const docs = path.join(root, 'docs');
const site = path.join(docs, 'site');
/** What VitePress reads, what it writes, and what the service serves. */
const pagesFolder = path.join(site, '.pages');
const outputFolder = path.join(site, '.output');
const servedFolder = path.join(site, 'dist');

const startedMs = performance.now();
await installPackages();
const assembled = await assembleSite(root);
await writePages(assembled);
await run(process.execPath, [path.join(docs, 'node_modules/vitepress/bin/vitepress.js'), 'build', 'site']);
await addMarkdown(assembled);
// At once, so that the service never serves a part.
await rm(servedFolder, { recursive: true, force: true });
await rename(outputFolder, servedFolder);
const { files, bytes } = await sizeOf(servedFolder);
const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
process.stdout.write(
  `docs/site/dist: ${assembled.pages.size} pages, ${files} files, ${(bytes / 1e6).toFixed(1)} MB, in ${seconds} s\n`,
);

/** `npm ci` in docs/, unless what its lock names is there. */
async function installPackages(): Promise<void> {
  const changedMs = async (file: string): Promise<number> =>
    (await stat(path.join(docs, file)).catch(() => null))?.mtimeMs ?? 0;
  if ((await changedMs('node_modules/.package-lock.json')) >= (await changedMs('package-lock.json'))) return;
  await run('npm', ['ci', '--no-audit', '--no-fund']);
}

async function writePages({ pages, menus }: Site): Promise<void> {
  await rm(pagesFolder, { recursive: true, force: true });
  for (const [sitePath, page] of pages) await write(path.join(pagesFolder, sitePath), page);
  await write(path.join(site, '.menus.json'), JSON.stringify(menus));
}

/** Each page as Markdown too, the files that pages link to, and llms.txt. */
async function addMarkdown({ pages, files: linked, llms }: Site): Promise<void> {
  for (const [sitePath, page] of pages) await write(path.join(outputFolder, sitePath), page);
  for (const [sitePath, source] of linked) {
    const target = path.join(outputFolder, sitePath);
    await mkdir(path.dirname(target), { recursive: true });
    await cp(path.join(root, source), target);
  }
  await write(path.join(outputFolder, 'llms.txt'), llms);
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** @throws Error when it fails */
async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { cwd: docs, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed with exit code ${code}`);
}

async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const inside = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(inside.map(async (file) => (await stat(path.join(file.parentPath, file.name))).size));
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}
