import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { browserIsMissing, launchBrowser, openConfinedPage } from '../support/browser.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The reference page in a real browser. Its script is 4 MB. */

const skip = browserIsMissing();

/** Other products that Scalar's page advertises or sends the description to. */
const FOREIGN = /scalar|ask ai|deploy|share|generate mcp|vs ?code|galaxy|open api client/i;

test('/reference loads nothing from elsewhere, and a developer logs in and tries a call', { skip }, async () => {
  const service = await startTestService();
  const browser = await launchBrowser();
  try {
    await tryReferencePage(service, browser);
  } finally {
    await browser.close();
    await service.close();
  }
});

async function tryReferencePage(service: TestService, browser: Browser): Promise<void> {
  const { page, problems, elsewhere } = await openConfinedPage(browser, service.url);
  await page.goto(`${service.url}/reference#tag/account-validation/POST/api/v1/check-account`);
  await logIn(page, service);
  const verdict = await sendCheckAccount(page, service);
  assert.equal(verdict.status, 200);
  assert.deepEqual([verdict.body.success, verdict.body.data?.status], [true, 'ACTIVE']);
  await page.getByText('KARTIKA PRASETYO').first().waitFor();

  const controls = await page.locator('button:visible, a:visible').allTextContents();
  assert.ok(controls.length > 20, controls.join());
  assert.deepEqual(
    controls.filter((text) => FOREIGN.test(text)),
    [],
  );
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(problems, []);

  // The page would be told of a request to another server: the list above is not empty for want of looking.
  await page.evaluate("fetch('https://elsewhere.example/').catch(() => {})");
  assert.match(problems.join(), /Content Security Policy/);
}

async function logIn(page: Page, service: TestService): Promise<void> {
  await page.locator('[data-placeholder="12345"]').fill(service.alpha.clientId);
  await page.getByLabel('Client Secret').fill(service.alpha.clientSecret);
  const answered = page.waitForResponse(`${service.url}/oauth/token`);
  await page.getByRole('button', { name: 'Authorize' }).click();
  assert.equal((await answered).status(), 200);
  await page.getByText('Access Token:').first().waitFor();
}

interface Verdict {
  readonly success: boolean;
  readonly data?: { readonly status: string };
}

/** Sends the example of the description. */
async function sendCheckAccount(page: Page, service: TestService): Promise<{ status: number; body: Verdict }> {
  await page.getByText('Check a bank account before paying to it').first().click();
  await page.getByRole('button', { name: /Test Request.*check-account/ }).click();
  const answered = page.waitForResponse(`${service.url}/api/v1/check-account`);
  await page.getByRole('button', { name: /^Send/ }).first().click();
  const response = await answered;
  return { status: response.status(), body: (await response.json()) as Verdict };
}
