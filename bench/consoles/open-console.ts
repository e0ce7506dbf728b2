import assert from 'node:assert/strict';
import { Pool } from 'undici';
import { PAGE_REQUESTS, POLL_MS, POLLED_REQUEST } from './page-requests.ts';

/** A browser of its own person with the console's overview page, as far as the service sees it. Hidden at first. */
export interface OpenConsole {
  /** How often the page has read the overview. */
  readings(): number;
  /** The page becomes visible, and reads the overview after this time and then every 5 s. */
  show(afterMs: number): void;
  /** Resolves when no request is left. @throws Error when one was not answered as it should be */
  hide(): Promise<void>;
  close(): Promise<void>;
}

/** Of the files that a page names. */
const LINK = /(?:src|href)="(\/console\/[^"]+)"/g;

/** What Chromium sends with each request of the page. */
const HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'accept-language': 'id,en;q=0.9',
  'cache-control': 'no-cache',
  'sec-fetch-dest': 'empty',
  'sec-fetch-mode': 'cors',
  'sec-fetch-site': 'same-origin',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
};

/** Logs in by the link, and loads the page with its files, on one connection that stays open. */
export async function openConsole(operatorUrl: string, loginLink: string): Promise<OpenConsole> {
  const pool = new Pool(operatorUrl, { connections: 1, keepAliveTimeout: 60_000 });
  let cookie = '';

  async function request(path: string, expected = 200, further: Record<string, string> = {}): Promise<string> {
    const sent = { ...HEADERS, cookie, ...further };
    const { statusCode, headers, body } = await pool.request({ path, method: 'GET', headers: sent });
    const text = await body.text();
    assert.equal(statusCode, expected, `${path}: ${text}`);
    const [set = ''] = [headers['set-cookie'] ?? []].flat();
    if (set !== '') cookie = set.split(';', 1)[0] ?? '';
    return text;
  }

  const { pathname, search } = new URL(loginLink);
  await request(pathname + search, 303);
  // As text: what is measured begins later.
  const page = await request('/console/', 200, { 'accept-encoding': 'identity' });
  const files = [...page.matchAll(LINK)].map(([, file = '']) => file);
  assert.equal(files.length, 3, 'the page of the console names other files than its script, its style and its icon');
  for (const path of [...files, ...PAGE_REQUESTS]) await request(path);

  let readings = 0;
  let failure: unknown;
  let timer: NodeJS.Timeout | undefined;
  let reading: Promise<void> = Promise.resolve();
  let isVisible = false;

  function readAfter(ms: number): void {
    timer = setTimeout(() => {
      reading = read().catch((error: unknown) => void (failure ??= error));
    }, ms);
  }
  async function read(): Promise<void> {
    await request(POLLED_REQUEST);
    readings += 1;
    if (isVisible) readAfter(POLL_MS);
  }

  return {
    readings: () => readings,
    show(afterMs) {
      isVisible = true;
      readAfter(afterMs);
    },
    async hide() {
      isVisible = false;
      clearTimeout(timer);
      await reading;
      if (failure !== undefined) throw failure;
    },
    close: () => pool.close(),
  };
}
