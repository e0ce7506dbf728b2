import path from 'node:path';

/**
 * What is on the site, in the order of its menu. Sources are paths from the root of the repository. Every client of the
 * public listener may read the site, so pages for operators stay in the repository.
 */

export interface Section {
  readonly title: string;
  readonly sources: readonly string[];
  /** On llms.txt as further reading. */
  readonly isOptional?: true;
}

const inDocs = (...names: readonly string[]): string[] => names.map((name) => `docs/${name}.md`);

const GUIDES = [
  'README',
  'start',
  'validate',
  'status',
  'callbacks',
  'errors',
  'limits',
  'bulk',
  'sandbox',
  'going-live',
  'snap',
];

const GUIDES_IN_ENGLISH: Section = {
  title: 'Guides',
  sources: GUIDES.map((name) => `docs/guides/${name}.md`),
};

export const GUIDES_IN_INDONESIAN: Section = {
  title: 'Panduan',
  sources: GUIDES.map((name) => `docs/id/guides/${name}.md`),
};

export const SECTIONS: readonly Section[] = [
  GUIDES_IN_ENGLISH,
  {
    title: 'API',
    sources: [
      ...inDocs('api', 'contract', 'callbacks', 'account-validations', 'name-match', 'failure-reasons', 'banks'),
      'packages/client/README.md',
      ...inDocs('other-languages', 'cli', 'check-file', 'snap-clients', 'simulated-bank', 'glossary'),
    ],
  },
  { title: 'The project', isOptional: true, sources: ['README.md'] },
];

/** Where a page outside docs/ is on the site. */
const OUTSIDE: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'packages/client/README.md': 'client.md',
};

/** The path of a source's page on the site, such as `guides/start.md`. */
export function sitePathOf(source: string): string {
  const inside = source.startsWith('docs/') ? source.slice('docs/'.length) : OUTSIDE[source];
  if (inside === undefined) throw new Error(`${source} has no place on the site: give it one in docs/site/contents.ts`);
  return path.posix.basename(inside) === 'README.md' ? path.posix.join(path.posix.dirname(inside), 'index.md') : inside;
}

/** Files that pages may link to: examples for clients, and no configuration or source of the service. */
export const isPublicFile = (file: string): boolean =>
  file === 'openapi.json' ||
  (/^(?:docs\/(?:guides|id|samples)|packages\/client)\//.test(file) && !file.endsWith('.md'));

/** A file that is no page: as text, which a browser shows. JSON it shows anyway. */
export const sitePathOfFile = (file: string): string => `files/${file}${file.endsWith('.json') ? '' : '.txt'}`;
