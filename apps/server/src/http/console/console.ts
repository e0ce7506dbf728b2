import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { englishOnly } from '../../lib/bilingual-text.ts';
import { ApiError } from '../errors.ts';
import { createPublishedFile, type PublishedFile, type SendFile } from '../published-files.ts';

/** Where `npm ci` builds the console (apps/console/build.ts). */
const BUILT = fileURLToPath(new URL('../../../../console/dist/', import.meta.url));

const PAGE = '/console/';
const PAGE_FILE = `${PAGE}index.html`;
/** Files whose names change with their content. */
const ASSETS = `${PAGE}assets/`;

/**
 * Nothing inline and nothing from elsewhere, whatever a text in a page contains. The browser also refuses code that
 * makes HTML or scripts out of texts.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const IMMUTABLE = 'public, max-age=31536000, immutable';

/** In any 60 seconds and from one address: an office with one address has many browsers. */
export const CONSOLE_FILES_PER_MINUTE = 600;

/**
 * The operator's console at `/console/`. Every path below it that is no file is the page, which reads its own path:
 * each of its states has an address. The files hold no data and need no login; what they show comes from the operator
 * API. They are read at the first request, and then kept in memory.
 */
export function publishConsole(app: FastifyInstance, send: SendFile): void {
  app.get('/console', { schema: { hide: true } }, (_request, reply) => reply.redirect(PAGE, 301));
  let reading: Promise<ReadonlyMap<string, PublishedFile>> | undefined;
  app.get(`${PAGE}*`, { schema: { hide: true } }, async (request, reply) => {
    // A folder that is built later is found by the next request.
    const files = await (reading ??= readFiles().catch((error: unknown) => {
      reading = undefined;
      throw error;
    }));
    const [requested = ''] = request.originalUrl.split('?', 1);
    const file = files.get(requested.startsWith(ASSETS) ? requested : PAGE_FILE);
    if (file === undefined) throw new ApiError('NOT_FOUND', { message: NO_SUCH_FILE });
    return send(request, reply.headers(HEADERS), file);
  });
}

const NO_SUCH_FILE = englishOnly('The console has no such file: load its page again, which names the files it has now');
const NOT_BUILT = englishOnly('The console is not built: run npm run console, which npm ci does where scripts may run');

/** By the path of the URL. Only what is here is served: a request names no file of the disk. */
async function readFiles(): Promise<ReadonlyMap<string, PublishedFile>> {
  const entries = await readdir(BUILT, { recursive: true, withFileTypes: true }).catch(() => []);
  if (entries.length === 0) throw new ApiError('NOT_FOUND', { message: NOT_BUILT });
  const files = entries.filter((entry) => entry.isFile() && Object.hasOwn(TYPES, path.extname(entry.name)));
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }): Promise<[string, PublishedFile]> => {
        const file = path.join(parentPath, name);
        const url = PAGE + path.relative(BUILT, file).replaceAll(path.sep, '/');
        const type = TYPES[path.extname(name)] ?? '';
        const body = await readFile(file);
        return [url, await createPublishedFile(type, body, url.startsWith(ASSETS) ? IMMUTABLE : undefined)];
      }),
    ),
  );
}
