import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser } from 'playwright-core';
import { browserIsMissing, launchBrowser, watchPage } from '../support/browser.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';

/** The client package in a page of another origin, in a real browser, and the real service (docs/contract.md 2.7). */

const skip = browserIsMissing();
const CLIENT = fileURLToPath(new URL('../../packages/client/src/', import.meta.url));

/** What the page runs. It gets its token as a page does: from elsewhere. */
const PROGRAM = `
import { createTibaClient } from './index.ts';
import { verifyCallback } from './callbacks.ts';
import { signCallback, disbursementCallback, TEST_SECRET } from './testing.ts';
globalThis.tryTiba = async (baseUrl, token) => {
  const tiba = createTibaClient({ baseUrl, accessToken: () => token, retriesMax: 0 });
  try {
    const { response } = await tiba.checkStatus('INV/2026/001').withResponse();
    const { headers, requestId } = response;
    const final = await tiba.waitForFinal('INV/2026/001');
    const missing = await tiba.checkStatus('NONE').catch((error) => error.error_code);
    const account = await tiba.checkAccount({ bank_code: 'BCA', account_number: '1234567890' });
    const { headers: signed, body } = await signCallback(disbursementCallback());
    const { callback } = await verifyCallback(signed, body, TEST_SECRET);
    return {
      limit: headers.get('ratelimit'),
      hasRequestId: requestId !== null,
      amount: final.amount,
      missing,
      account: account.status,
      callback: callback.type,
    };
  } catch (error) {
    return error.error_code;
  }
};
`;

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PROGRAM, resolveDir: CLIENT, loader: 'js' },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  return outputFiles[0]?.text ?? assert.fail('esbuild wrote nothing');
}

async function servePage(): Promise<HttpReceiver> {
  const script = await bundle();
  return startHttpReceiver({
    respond(response, { path }) {
      const isScript = path === '/program.js';
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(
        isScript ? script : '<!doctype html><title>page</title><script type="module" src="/program.js"></script>',
      );
    },
  });
}

async function tryFrom(browser: Browser, url: string, service: TestService): Promise<unknown> {
  const { page } = watchPage(await browser.newPage());
  await page.goto(url);
  await page.waitForFunction('globalThis.tryTiba !== undefined');
  return page.evaluate(`tryTiba(${JSON.stringify(service.url)}, ${JSON.stringify(service.alpha.token)})`);
}

test('a page of an allowed origin checks, waits and keeps to the limits; a page of another one cannot', {
  skip,
}, async () => {
  await using closers = new AsyncDisposableStack();
  const pages = await servePage();
  closers.defer(() => pages.close());
  const service = await startTestService({ settings: { corsOrigins: [pages.url] } });
  closers.defer(() => service.close());
  await service.feed(statusUpdate({ status: 'SUCCESS', processed_at: '2026-11-21T04:32:31.402Z' }));
  const browser = await launchBrowser();
  closers.defer(() => browser.close());

  const allowed = (await tryFrom(browser, pages.url, service)) as Record<string, unknown>;
  assert.match(String(allowed['limit']), /^"check-status";r=\d+;t=\d+$/);
  assert.deepEqual(
    { ...allowed, limit: null },
    {
      limit: null,
      hasRequestId: true,
      amount: '150000.00',
      missing: 'TRANSACTION_NOT_FOUND',
      account: 'ACTIVE',
      callback: 'disbursement.succeeded',
    },
  );
  // The same server, under a name that the operator has not named.
  const elsewhere = pages.url.replace('127.0.0.1', 'localhost');
  assert.equal(await tryFrom(browser, elsewhere, service), 'CONNECTION_FAILED');
});
