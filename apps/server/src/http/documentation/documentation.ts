import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { type CountFile, createPublishedFile, type PublishedFile, sendFile } from '../published-files.ts';
import { listSiteFiles, type SiteFile, type SiteFiles } from './site-files.ts';

export interface DocumentationDependencies {
  /** Where `npm run docs` has built the site. */
  readonly folder: string;
  /** Called when a request arrives: the address is known once the listener is open. */
  readonly describe: () => ServiceDescription;
}

/** What the pages fill in. Everyone may read it. */
export interface ServiceDescription {
  readonly base_url: string;
  /** Whether the pages about a sandbox are about this service. */
  readonly sandbox: boolean;
  /** Of clients without limits of their own, by the names of `RateLimit-Policy`. */
  readonly limits: Readonly<Record<string, number>>;
}

const BASE = '/docs/';

/**
 * `/docs/`, the documentation site, and `/docs/service.json`, what it fills in about this service. The site is read at
 * the first request for it; as long as it is not built, the answer says how to build it.
 */
export function publishDocumentation(
  app: FastifyInstance,
  count: CountFile,
  { folder, describe }: DocumentationDependencies,
): void {
  const schema = { hide: true };
  app.get('/docs', { schema }, (_request, reply) => reply.redirect(BASE, 301));
  /** Before anything is built, listed or read. */
  const onRequest = async (request: FastifyRequest): Promise<void> => count(request);
  let description: { readonly text: string; readonly file: Promise<PublishedFile> } | null = null;
  app.get(`${BASE}service.json`, { schema, onRequest }, async (request, reply) => {
    const text = JSON.stringify(describe());
    if (description?.text !== text) {
      description = { text, file: createPublishedFile('application/json; charset=utf-8', Buffer.from(text)) };
    }
    return sendFile(request, reply, await description.file);
  });

  let site: SiteFiles | null = null;
  app.get<{ Params: { '*': string } }>(`${BASE}*`, { schema, onRequest }, async (request, reply) => {
    const answer = (): Promise<FastifyReply> => sendSitePath(request, reply, request.params['*']);
    return answer().catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      // The site was built again since its files were listed.
      site = null;
      return answer();
    });
  });

  async function sendSitePath(request: FastifyRequest, reply: FastifyReply, sitePath: string): Promise<FastifyReply> {
    site ??= await listSiteFiles(folder);
    if (site === null) throw notBuilt();
    if (site.has(`${sitePath}/index.html`)) return reply.redirect(`${BASE}${encodeURI(sitePath)}/`, 301);
    const found = site.read(fileNameOf(site, sitePath));
    if (found !== null) return sendSiteFile(request, reply, await found);
    const missing = site.read('404.html');
    if (missing === null) throw new ApiError('NOT_FOUND');
    const page = await missing;
    return sendSiteFile(request, reply.code(404), page);
  }

  function sendSiteFile(request: FastifyRequest, reply: FastifyReply, { file, headers }: SiteFile): FastifyReply {
    return sendFile(request, reply.headers(headers), file);
  }
}

/** Addresses of pages have no ending. */
function fileNameOf(site: SiteFiles, sitePath: string): string {
  if (sitePath === '' || sitePath.endsWith('/')) return `${sitePath}index.html`;
  return site.has(sitePath) ? sitePath : `${sitePath}.html`;
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

const notBuilt = (): ApiError =>
  new ApiError('NOT_FOUND', {
    message: {
      en: 'The documentation site is not built here: its operator builds it with `npm run docs`. See /reference',
      id: 'Situs dokumentasi belum dibuat di sini: operator membuatnya dengan `npm run docs`. Lihat /reference',
    },
  });
