import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { createLoginLink } from '../../apps/server/src/auth/login-links.ts';
import type { Role } from '../../apps/server/src/auth/roles.ts';
import { type WatchedPage, watchPage } from '../support/browser.ts';
import type { TestService } from '../support/service.ts';

/** A browser in front of the real service: pages, what they complain about, and how they are judged. */

const BUILD = fileURLToPath(new URL('../../apps/console/build.ts', import.meta.url));

/** As `npm ci` does it. Resolves to how long it took. */
export async function buildConsole(): Promise<number> {
  const startedMs = performance.now();
  const [code] = await once(spawn(process.execPath, [BUILD], { stdio: 'inherit' }), 'exit');
  assert.equal(code, 0);
  return performance.now() - startedMs;
}

export interface View {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly language?: 'en' | 'id';
}

/** A browser of its own person, who is logged in unless `role` is null: nothing is shared with other pages. */
export async function openPage(
  browser: Browser,
  { app, operatorUrl }: TestService,
  role: Role | null,
  { colorScheme = 'light', width = 1280, language = 'en' }: View = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    baseURL: operatorUrl,
    viewport: { width, height: 800 },
    colorScheme,
    locale: language,
    timezoneId: 'Asia/Jakarta',
  });
  if (role !== null) {
    const person = { subject: `${role}@example.com`, name: 'Siti Rahma', role };
    const login = await context.request.get(await createLoginLink(app.database, operatorUrl, person));
    assert.ok(login.ok(), await login.text());
  }
  return watchPage(await context.newPage());
}

const axe = await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** What axe-core finds wrong in the page as it is now: the rule, and the first element. */
export async function findBarriers(page: Page, rules: readonly string[] = []): Promise<string[]> {
  if (!(await page.evaluate<boolean>("typeof axe !== 'undefined'"))) await page.evaluate(axe);
  const options = rules.length === 0 ? {} : { runOnly: rules };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .map(({ html }) => html)
        .slice(0, 3)
        .join(' ')}`,
  );
}
