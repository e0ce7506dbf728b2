import path from 'node:path';
import { isPublicFile, sitePathOf, sitePathOfFile } from './contents.ts';

/** What links may lead to, by paths from the root of the repository. */
export interface Targets {
  readonly pages: ReadonlySet<string>;
  /** Every file of the repository: one that is linked to and is no page is put on the site as it is. */
  readonly files: ReadonlySet<string>;
}

export interface RewrittenPage {
  readonly page: string;
  /** Files and folders that it links to and that are no pages. */
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

const LINK = /!?\[((?:[^[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)/g;

/**
 * A page with links for the site. In the repository they are paths between sources; a page has another path on the
 * site, and a file is below `files/`. A link to what is not on the site becomes its text.
 * @throws Error when a link leads nowhere
 */
export function rewriteLinks(source: string, text: string, { pages, files }: Targets): RewrittenPage {
  const from = path.posix.dirname(sitePathOf(source));
  const linked = { files: new Set<string>(), folders: new Set<string>() };

  /** Null for what is in the repository alone. */
  function sitePathTo(target: string): string | null {
    const meant = path.posix.join(path.posix.dirname(source), target).replace(/\/$/, '');
    if (pages.has(meant)) return sitePathOf(meant);
    if (files.has(meant)) {
      if (!isPublicFile(meant)) return null;
      linked.files.add(meant);
      return sitePathOfFile(meant);
    }
    if (![...files].some((file) => file.startsWith(`${meant}/`)))
      throw new Error(`${source}: a link leads to ${meant}, which does not exist`);
    if (!isPublicFile(`${meant}/`)) return null;
    linked.folders.add(meant);
    return folderPage(meant);
  }

  const page = outsideOfCode(text, (prose) =>
    prose.replaceAll(LINK, (link: string, text: string, target: string, anchor = '') => {
      const sitePath = sitePathTo(target);
      if (sitePath === null) return text;
      return `${link.startsWith('!') ? '!' : ''}[${text}](${relative(from, sitePath)}${anchor})`;
    }),
  );
  return { page, files: [...linked.files], folders: [...linked.folders] };
}

/** The path of the page that lists a folder. */
export const folderPage = (folder: string): string => `files/${folder}/index.md`;

/** With a dot at its start, so that it is no address from the root. */
const relative = (from: string, to: string): string => {
  const found = path.posix.relative(from, to);
  return found.startsWith('.') ? found : `./${found}`;
};

/** Changes a page but for its blocks of code. */
const outsideOfCode = (text: string, change: (prose: string) => string): string =>
  text
    .split(/(^```[^]*?^```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('');
