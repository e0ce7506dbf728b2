import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { titleOf } from './anchors.ts';
import { GUIDES_IN_INDONESIAN, isPublicFile, SECTIONS, type Section, sitePathOf, sitePathOfFile } from './contents.ts';
import { folderPage, rewriteLinks, type Targets } from './links.ts';
import { renderLlms } from './llms.ts';
import type { OpenApi } from './openapi.ts';
import { renderReference } from './reference.ts';

/** The address of the site on the public listener. */
const BASE = '/docs/';

/** Everything that the site is made of. Paths are those on the site. */
export interface Site {
  /** Markdown. */
  readonly pages: ReadonlyMap<string, string>;
  /** Files that pages link to, with their paths in the repository. */
  readonly files: ReadonlyMap<string, string>;
  readonly menus: Readonly<Record<'en' | 'id', readonly MenuSection[]>>;
  readonly llms: string;
}

interface MenuSection {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** Takes the pages of the repository together, and makes those of the reference. @throws Error for a dead link */
export async function assembleSite(root: string): Promise<Site> {
  const read = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8');
  const existing = await filesBelow(root);
  const isThere = ({ sources, ...section }: Section): Section => ({
    ...section,
    sources: sources.filter((source) => existing.has(source)),
  });
  const indonesian = isThere(GUIDES_IN_INDONESIAN);
  const english = SECTIONS.map(isThere);
  const sources = [...english, indonesian].flatMap((section) => section.sources);
  const { pages, files } = await rewritePages(sources, existing, read);
  const reference = renderReference(JSON.parse(await read('openapi.json')) as OpenApi);
  for (const [sitePath, page] of Object.entries(reference)) pages.set(sitePath, page);
  files.add('openapi.json');

  const chapters = [...english, indonesian].map(({ title, sources: own }) => ({
    title,
    sitePaths: own.map(sitePathOf),
  }));
  chapters.splice(1, 0, { title: 'Reference', sitePaths: Object.keys(reference) });
  const textOf = (sitePath: string): string => pages.get(sitePath) ?? '';
  const menu = chapters.map(({ title, sitePaths }) => ({
    text: title,
    items: sitePaths.map((sitePath) => {
      const page = titleOf(textOf(sitePath));
      // The first page of a section has its title.
      const text = page === title ? (OVERVIEW[sitePath] ?? 'Overview') : page;
      return { text, link: addressOf(sitePath) };
    }),
  }));
  return {
    pages,
    files: new Map([...files].map((file) => [sitePathOfFile(file), file])),
    menus: { en: menu.slice(0, -1), id: menu.slice(-1) },
    llms: renderLlms(
      chapters.map(({ title, sitePaths }) => ({
        title,
        pages: sitePaths.map((sitePath) => ({ address: BASE + sitePath, text: textOf(sitePath) })),
      })),
    ),
  };
}

/** In the menu, where a page is not in English. */
const OVERVIEW: Readonly<Record<string, string>> = { 'id/guides/index.md': 'Ikhtisar' };

const addressOf = (sitePath: string): string => `/${sitePath.replace(/(?:index)?\.md$/, '')}`;

/** Files by their path from `root`, but for what is installed, built or hidden. */
async function filesBelow(root: string): Promise<Set<string>> {
  const found: string[] = [];
  async function walk(folder: string): Promise<void> {
    for (const entry of await readdir(path.join(root, folder), { withFileTypes: true })) {
      if (/^(?:\..*|node_modules|dist)$/.test(entry.name)) continue;
      const file = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) await walk(file);
      else if (entry.isFile()) found.push(file);
    }
  }
  await walk('');
  return new Set(found.sort());
}

/** The pages by their path on the site, and the files that they link to. */
async function rewritePages(
  sources: readonly string[],
  existing: ReadonlySet<string>,
  read: (file: string) => Promise<string>,
): Promise<{ pages: Map<string, string>; files: Set<string> }> {
  const targets: Targets = { pages: new Set(sources), files: existing };
  const pages = new Map<string, string>();
  const files = new Set<string>();
  for (const source of sources) {
    const rewritten = rewriteLinks(source, await read(source), targets);
    pages.set(sitePathOf(source), withOtherLanguage(source, rewritten.page, targets.pages));
    for (const file of rewritten.files) files.add(file);
    for (const folder of rewritten.folders) {
      const inFolder = [...existing].filter((file) => file.startsWith(`${folder}/`) && isPublicFile(file));
      for (const file of inFolder) files.add(file);
      pages.set(folderPage(folder), renderFolder(folder, inFolder));
    }
  }
  return { pages, files };
}

const renderFolder = (folder: string, files: readonly string[]): string =>
  `# ${folder}\n\n${files
    .map((file) => file.slice(folder.length + 1))
    .map((name) => `- [${name}](./${name}${name.endsWith('.json') ? '' : '.txt'})\n`)
    .join('')}`;

/** Below its title, a guide says where it is in the other language. */
function withOtherLanguage(source: string, page: string, pages: ReadonlySet<string>): string {
  const [, prefix, name] = /^docs\/(id\/)?guides\/(.*)$/.exec(source) ?? [];
  if (name === undefined) return page;
  const isEnglish = prefix === undefined;
  if (!pages.has(isEnglish ? `docs/id/guides/${name}` : `docs/guides/${name}`)) return page;
  const file = name === 'README.md' ? 'index.md' : name;
  const link = isEnglish ? `[Bahasa Indonesia](../id/guides/${file})` : `[English](../../guides/${file})`;
  return page.replace(/^(# .*)$/m, (title) => `${title}\n\n${link}`);
}
