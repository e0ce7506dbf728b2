import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import axe, { type AxeResults } from 'axe-core';
import type { Browser } from 'playwright-core';
import { assembleSite } from '../../docs/site/assemble.ts';
import { browserIsMissing, type ConfinedPage, launchBrowser, openConfinedPage } from '../support/browser.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The built documentation site in a real browser. `npm run docs` builds it; CI does so before the tests (.ci/run). */

const root = fileURLToPath(new URL('../..', import.meta.url));
const skip = browserIsMissing() || (await siteIsMissing());

/** The reason to skip when the site in docs/site/dist is not that of these sources. */
async function siteIsMissing(): Promise<string | false> {
  const { pages } = await assembleSite(root);
  const built = (sitePath: string): Promise<string> =>
    readFile(path.join(root, 'docs/site/dist', sitePath), 'utf8').catch(() => '');
  for (const [sitePath, page] of pages) {
    if ((await built(sitePath)) === page) continue;
    assert.notEqual(process.env['CI'], 'true', `docs/site/dist has not this ${sitePath}; CI must run npm run docs.`);
    return 'The documentation site is not built, or not from these pages: npm run docs builds it.';
  }
  return false;
}

suite('the documentation site in Chromium', { skip }, () => {
  let service: TestService;
  let browser: Browser;
  let opened: ConfinedPage;
  before(async () => {
    service = await startTestService({ rails: [] });
    browser = await launchBrowser();
    opened = await openConfinedPage(browser, service.url);
  });
  after(async () => {
    await browser?.close();
    await service?.close();
  });

  test('search finds what a client looks for, without another server', async () => {
    const { page } = opened;
    await page.goto(`${service.url}/docs/guides/start`);
    await page.getByRole('button', { name: 'Search' }).first().click();
    for (const [text, expected] of [
      ['rate limit', '/docs/guides/limits'],
      ['INVALID_FORMAT', '/docs/guides/errors#invalid_format'],
      ['replay', '/docs/callbacks'],
    ] as const) {
      await page.locator('.VPLocalSearchBox input').fill(text);
      await page.locator(`.VPLocalSearchBox a.result[href^="${expected}"]`).first().waitFor();
    }
  });

  test('a page shows the address and the limits of the service', async () => {
    const { page } = opened;
    await page.goto(`${service.url}/docs/guides/limits`);
    await page.locator('[data-limit="events"]').getByText('1,000,000').waitFor();
    await page.goto(`${service.url}/docs/api`);
    await page.locator('.vp-doc code').getByText(service.url).first().waitFor();
  });

  test('diagrams are drawn, in light and in dark colors', async () => {
    const { page } = opened;
    await page.goto(`${service.url}/docs/`);
    const drawing = page.getByRole('img', { name: 'Clients, the disbursement core and banks' });
    await drawing.waitFor();
    assert.equal(await page.locator('.language-mermaid').count(), 0);
    const colorOf = () => page.evaluate("getComputedStyle(document.querySelector('.diagram text')).fill");
    const light = await colorOf();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html.dark').waitFor();
    const dark = await colorOf();
    assert.match(String(light), /^rgb\(/);
    assert.notEqual(light, dark);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  test('axe finds no fault, in both languages', async () => {
    const { page } = opened;
    for (const target of ['/docs/', '/docs/reference/banks', '/docs/id/guides/start']) {
      await page.goto(service.url + target);
      await page.locator('.vp-doc h1').waitFor();
      await page.evaluate(axe.source);
      const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
      const faults = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
      assert.deepEqual(faults, [], target);
    }
  });

  test('nothing was asked of another server, and nothing was stopped', () => {
    assert.deepEqual(opened.elsewhere, []);
    assert.deepEqual(opened.problems, []);
  });
});
