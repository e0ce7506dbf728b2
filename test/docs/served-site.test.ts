import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import fastify from 'fastify';
import { publishDocumentation } from '../../apps/server/src/http/documentation/documentation.ts';
import { ApiError } from '../../apps/server/src/http/errors.ts';
import { exchangeOne, rawRequest } from '../contract/raw-connection.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';

/** `/docs`: the built documentation site on the public listener. */

const INLINE = 'document.documentElement.dataset.planted = 1;';
const PAGE = `<!doctype html><title>Tiba</title><script>${INLINE}</script><script src="/docs/assets/app.1.js"></script>`;
const FILES: Readonly<Record<string, string>> = {
  'index.html': PAGE,
  'guides/index.html': '<!doctype html><title>Guides</title>',
  'guides/start.html': '<!doctype html><title>Start</title>',
  'guides/start.md': '# Start\n',
  '404.html': '<!doctype html><title>Not here</title>',
  'assets/app.1.js': `export const text = '${'long '.repeat(200)}';\n`,
  'assets/app.2.js': 'export {};',
  'llms.txt': '# Tiba\n',
};

let parent: string;
let folder: string;
let service: TestService;
before(async () => {
  parent = await mkdtemp(path.join(tmpdir(), 'tiba-site-'));
  folder = path.join(parent, 'dist');
  await writeFile(path.join(parent, 'secret.txt'), 'not for the public');
  service = await startTestService({ rails: [], settings: { docsDirectory: folder } });
});
after(async () => {
  await service?.close();
  await rm(parent, { recursive: true, force: true });
});

const get = (target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  service.get(target, { token: null, headers, method });

async function build(): Promise<void> {
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
}

suite('/docs', () => {
  test('while the site is not built, the answer says how to build it; once it is built, it is served', async () => {
    const missing = await get('/docs/');
    assert.deepEqual([missing.status, missing.json.error_code], [404, 'NOT_FOUND']);
    assert.match(missing.json.message, /npm run docs/);
    await build();
    const page = await get('/docs');
    assert.deepEqual([page.status, page.text], [200, PAGE]);
  });

  test('addresses of pages have no ending; each page is Markdown too', async () => {
    for (const [target, file] of [
      ['/docs/', 'index.html'],
      ['/docs/guides/', 'guides/index.html'],
      ['/docs/guides', 'guides/index.html'],
      ['/docs/guides/start', 'guides/start.html'],
      ['/docs/guides/start?from=here', 'guides/start.html'],
      ['/docs/guides/start.md', 'guides/start.md'],
      ['/docs/llms.txt', 'llms.txt'],
    ] as const) {
      const { status, text } = await get(target);
      assert.deepEqual([status, text], [200, FILES[file]], target);
    }
    assert.equal((await get('/docs/guides/start.md')).headers.get('content-type'), 'text/markdown; charset=utf-8');
    const none = await get('/docs/guides/none');
    assert.deepEqual([none.status, none.text], [404, FILES['404.html']]);
  });

  test('no path leads out of the folder', async () => {
    for (const target of [
      '/docs/../secret.txt',
      '/docs/%2e%2e/secret.txt',
      '/docs/..%2fsecret.txt',
      '/docs/guides/..%2f..%2fsecret.txt',
      '/docs/..%5csecret.txt',
      '/docs//etc/passwd',
      '/docs/%2fetc%2fpasswd',
      '/docs/guides/start.html%00',
      '/docs/%',
      `/docs/${path.join(parent, 'secret.txt')}`,
    ]) {
      const { status, text } = await exchangeOne(service.url, rawRequest('GET', target));
      assert.equal(status, 404, target);
      assert.ok(!text.includes('not for the public') && !text.includes('root:'), target);
    }
  });

  test('a page runs only the scripts that it was built with, and loads nothing from elsewhere', async () => {
    const { headers } = await get('/docs/');
    const policy = headers.get('content-security-policy') ?? '';
    const hash = createHash('sha256').update(INLINE).digest('base64');
    assert.match(policy, /^default-src 'none'; /);
    assert.ok(policy.includes(`; script-src 'self' 'sha256-${hash}'; `), policy);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    const asset = await get('/docs/assets/app.1.js');
    assert.match(asset.headers.get('content-security-policy') ?? '', /; script-src 'self'; /);
  });

  test('pages have an ETag, and files with a hash in their name are kept for a year', async () => {
    const asset = await get('/docs/assets/app.1.js', { 'accept-encoding': 'gzip' });
    assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.deepEqual([asset.headers.get('content-encoding'), asset.text], ['gzip', FILES['assets/app.1.js']]);
    const page = await get('/docs/guides/start');
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    const tag = page.headers.get('etag') ?? assert.fail('no ETag');
    const again = await get('/docs/guides/start', { 'if-none-match': tag });
    assert.deepEqual([again.status, again.text], [304, '']);
    const head = await get('/docs/guides/start', { 'accept-encoding': 'identity' }, 'HEAD');
    const length = String(Buffer.byteLength(FILES['guides/start.html'] ?? ''));
    assert.deepEqual([head.status, head.text, head.headers.get('content-length')], [200, '', length]);
    const missing = await get('/docs/none');
    const missingAgain = await get('/docs/none', { 'if-none-match': missing.headers.get('etag') ?? '' });
    assert.equal(missingAgain.status, 404);
  });

  test('service.json has the address and the limits of this service, and nothing else', async () => {
    const { status, headers, text } = await get('/docs/service.json');
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/json; charset=utf-8']);
    assert.deepEqual(JSON.parse(text), {
      base_url: service.url,
      sandbox: true,
      limits: {
        'check-status': 120,
        'check-account': 100,
        events: 1_000_000,
        callbacks: 1_000_000,
        banks: 1_000_000,
        'account-validations': 1_000_000,
        transactions: 1_000_000,
        'account-checks': 1_000_000,
        'accounts-per-day': 100_000,
      },
    });
  });

  test('a site that is built again under the service is listed again', async () => {
    await rm(path.join(folder, 'assets/app.2.js'));
    await writeFile(path.join(folder, 'assets/app.3.js'), 'export {};');
    const gone = await get('/docs/assets/app.2.js');
    assert.deepEqual([gone.status, gone.text], [404, FILES['404.html']]);
    assert.equal((await get('/docs/assets/app.3.js')).status, 200);
  });
});

test('a request is counted before anything is built or listed', async (t) => {
  const app = fastify();
  t.after(() => app.close());
  let described = 0;
  const describe = () => ({ base_url: String((described += 1)), sandbox: true, limits: {} });
  const refuse = (): never => {
    throw new ApiError('RATE_LIMIT_EXCEEDED');
  };
  publishDocumentation(app, refuse, { folder: path.join(parent, 'none'), describe });
  for (const url of ['/docs/service.json', '/docs/', '/docs/none'])
    assert.equal((await app.inject(url)).statusCode, 429, url);
  assert.equal(described, 0);
});
