import { type Browser, chromium, type Page } from 'playwright-core';
import { commandIsMissing } from './required-command.ts';

/** Pages in a real browser, which need not be installed on a developer's machine. */

const CHROMIUM = 'chromium';
/** Far more than a page needs: the machine may be busy with tests. */
const PAGE_TIMEOUT_MS = 120_000;

/** The reason to skip tests in a browser; false where they run. */
export const browserIsMissing = (): string | false => commandIsMissing(CHROMIUM);

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: `/usr/bin/${CHROMIUM}`,
    // A service in a container runs as root, where Chromium's own sandbox does not start.
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
  });

export interface WatchedPage {
  readonly page: Page;
  /** What the console of the browser and the Content-Security-Policy have complained about. */
  readonly problems: string[];
}

/** Notes what a page complains about, from now on. */
export function watchPage(page: Page): WatchedPage {
  const problems: string[] = [];
  page.setDefaultTimeout(PAGE_TIMEOUT_MS);
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  return { page, problems };
}

/** A page that reaches one server only. */
export interface ConfinedPage extends WatchedPage {
  /** The addresses of other servers that it asked for. */
  readonly elsewhere: string[];
}

export async function openConfinedPage(browser: Browser, origin: string): Promise<ConfinedPage> {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
  const elsewhere: string[] = [];
  await page.route('**', (route) => {
    const url = route.request().url();
    if (new URL(url).origin === origin) return route.continue();
    elsewhere.push(url);
    return route.abort();
  });
  return { ...watchPage(page), elsewhere };
}
