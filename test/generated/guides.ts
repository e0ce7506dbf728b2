import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Guides show samples as they are in their files: a file of docs/samples stands below the mark that names it. */

const docs = new URL('../../docs/', import.meta.url);

/** The mark and its block of code. */
const SAMPLE = /(<!-- sample: ([a-z-]+\.mjs) -->\n```js\n)[^]*?```/g;

/** The guides with samples in them, by their path from the root. */
export async function renderGuides(): Promise<Record<string, string>> {
  const samples = await readAll('samples/*.mjs');
  const guides = await readAll('{guides,id/guides}/*.md');
  const marked = Object.entries(guides).filter(([, page]) => page.includes('<!-- sample:'));
  return Object.fromEntries(marked.map(([path, page]) => [`docs/${path}`, renderSamples(page, samples)]));
}

/** @throws Error when a sample does not exist */
function renderSamples(page: string, samples: Readonly<Record<string, string>>): string {
  return page.replaceAll(SAMPLE, (_, mark: string, name: string) => {
    const code = samples[`samples/${name}`];
    if (code === undefined) throw new Error(`docs/samples has no ${name}`);
    return `${mark}${code}\`\`\``;
  });
}

/** The files that match, by their path from docs. */
async function readAll(pattern: string): Promise<Record<string, string>> {
  const files = (await Array.fromAsync(glob(pattern, { cwd: fileURLToPath(docs) }))).sort();
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(new URL(file, docs), 'utf8')] as const)),
  );
}
