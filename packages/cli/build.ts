import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';

/**
 * Bundles the program for npm: `npx tiba` loads one package and no other. Commands stay files of their own, so that
 * one loads only what it needs. `dist/LICENSES.txt` has the licenses of what is bundled.
 */

const DIST = new URL('dist/', import.meta.url);

await rm(DIST, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  charset: 'utf8',
  chunkNames: 'chunks/[name]-[hash]',
  metafile: true,
  logLevel: 'warning',
});
await chmod(new URL('main.js', DIST), 0o755);
await writeFile(new URL('LICENSES.txt', DIST), await licensesOf(Object.keys(metafile.inputs)));

/** The license of each package from which a file was bundled. */
async function licensesOf(inputs: readonly string[]): Promise<string> {
  const names = inputs.flatMap((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []);
  const texts = [...new Set(names)].sort().map(async (name) => {
    const folder = folderOf(name);
    const { version, license, author } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const holder = typeof author === 'string' ? author : (author?.name ?? 'not named');
    const text = file === undefined ? `Copyright: ${holder}\n` : await readFile(path.join(folder, file), 'utf8');
    return `${name} ${version} (${license})\n\n${text}`;
  });
  return (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`);
}

function folderOf(name: string): string {
  const paths = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const found = paths.map((folder) => path.join(folder, name)).find((folder) => existsSync(folder));
  if (found === undefined) throw new Error(`${name} is not installed`);
  return found;
}
