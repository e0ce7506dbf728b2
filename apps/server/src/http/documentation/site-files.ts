import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createPublishedFile, type PublishedFile } from '../published-files.ts';

/** A file of the built site, as it is sent. */
export interface SiteFile {
  readonly file: PublishedFile;
  readonly headers: Readonly<Record<string, string>>;
}

export interface SiteFiles {
  /** The file with this path below the folder, kept in memory from then on; null where there is none. */
  read(sitePath: string): Promise<SiteFile> | null;
  has(sitePath: string): boolean;
}

/**
 * The files of a folder. They are listed here and found by their names only, so that no path of a request reaches the
 * file system. Null when the folder does not exist.
 */
export async function listSiteFiles(folder: string): Promise<SiteFiles | null> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => null);
  if (entries === null) return null;
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const fileAt = new Map(files.map((file) => [path.relative(folder, file).split(path.sep).join('/'), file]));
  const loaded = new Map<string, Promise<SiteFile>>();
  return {
    has: (sitePath) => fileAt.has(sitePath),
    read(sitePath) {
      const file = fileAt.get(sitePath);
      if (file === undefined) return null;
      let found = loaded.get(sitePath);
      if (found === undefined) {
        found = load(file, sitePath);
        loaded.set(sitePath, found);
        // A file that cannot be read now may be readable later.
        found.catch(() => loaded.delete(sitePath));
      }
      return found;
    },
  };
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Their names have the hash of what is in them. */
const HASHED = /^assets\//;
const KEPT_FOR_A_YEAR = 'public, max-age=31536000, immutable';

async function load(file: string, sitePath: string): Promise<SiteFile> {
  const body = await readFile(file);
  const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
  return {
    file: await createPublishedFile(type, body, HASHED.test(sitePath) ? KEPT_FOR_A_YEAR : 'no-cache'),
    headers: {
      'content-security-policy': contentSecurityPolicy(type.startsWith('text/html') ? body.toString() : ''),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  };
}

const INLINE_SCRIPT = /<script(?![^>]*\ssrc=)[^>]*>([^]*?)<\/script>/g;

/**
 * A page loads and calls nothing but this service, runs only the scripts that it was built with, and no other page can
 * embed it. The colors of code are styles of their elements; they cannot run code.
 */
function contentSecurityPolicy(html: string): string {
  const hashes = [...html.matchAll(INLINE_SCRIPT)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  );
  return [
    "default-src 'none'",
    ["script-src 'self'", ...new Set(hashes)].join(' '),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
