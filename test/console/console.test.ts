import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { PAGE_REQUESTS, POLL_MS, POLLED_REQUEST } from '../../bench/consoles/page-requests.ts';
import { browserIsMissing, launchBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import type { HttpReceiver } from '../support/http-receiver.ts';
import { send, type TestService } from '../support/service.ts';
import { CLIENT_CASES } from './client-cases.ts';
import { buildConsole, findBarriers, openPage } from './console-harness.ts';
import { LOST, startConsoleService } from './console-service.ts';

/** The operator's console in Chromium, in front of the real service: pages by role, the keyboard, a phone. */

const skip = browserIsMissing();

let service: TestService;
let receiver: HttpReceiver;
let browser: Browser;
let buildMs: number;

suite('the console', { skip }, () => {
  before(async () => {
    const [built, started, launched] = await Promise.all([buildConsole(), startConsoleService(), launchBrowser()]);
    [buildMs, browser] = [built, launched];
    ({ service, receiver } = started);
    await service.addClient('gamma', ['status:read', 'account:check']);
  });
  after(async () => {
    await browser?.close();
    await receiver?.close();
    await service?.close();
  });

  test('a support agent finds a lost payout by one search, and asks the bank', async () => {
    const { page, problems } = await openPage(browser, service, 'support');
    await page.goto('/console/');
    await page.getByRole('searchbox').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(LOST.account);
    await page.keyboard.press('Enter');
    // Another customer's order has this reference: it is not opened, because the text may be an account as well.
    await page.getByRole('link', { name: 'an account number' }).waitFor();
    await page.getByRole('link', { name: 'TB0000000102' }).waitFor();
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1');
    await page.getByRole('link', { name: 'an account number' }).click();
    await page.getByRole('heading', { name: LOST.id, level: 1 }).waitFor();
    await page.goto('/console/transactions');
    await page.getByRole('searchbox').fill(`${LOST.account} 150.000 yesterday`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: LOST.id, level: 1 }).waitFor();
    const sentence = String(await page.locator('.spoken').textContent());
    for (const words of [
      'was sent to the bank',
      'at 10:02 WIB, was accepted by the bank, was last asked about at the bank ',
      ', and has been overdue since ',
    ])
      assert.ok(sentence.includes(words), sentence);
    const logs = await page.getByRole('link', { name: 'Logs' }).getAttribute('href');
    assert.equal(logs, `https://logs.example.com/?q=${LOST.id}&client=alpha`);
    await page.getByRole('img', { name: /Drawn over time/ }).waitFor();

    await page.getByRole('button', { name: 'Show account number and name' }).click();
    await page.getByRole('textbox', { name: /Why/ }).fill('Ticket 4711: the customer asks');
    await page.getByRole('dialog').getByRole('button', { name: 'Show' }).click();
    await page.getByText(LOST.account).waitFor();

    await page.getByRole('button', { name: 'Ask the bank now' }).click();
    await page.getByRole('textbox', { name: /Why/ }).fill('Ticket 4711: the customer asks');
    const answered = page.waitForResponse(/\/inquire/);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal((await answered).status(), 200);
    await page.getByRole('status').getByText('The bank was ').waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test('the overview asks for what the benchmark of open consoles replays, and again every 5 s', async () => {
    const { page, problems } = await openPage(browser, service, 'viewer');
    /** Every 15 s: the benchmark leaves them out. */
    const endpoints = '/operator/v1/callback-endpoints';
    const requested: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith('/operator/') && pathname !== endpoints) requested.push(pathname);
    });
    await page.clock.install();
    await page.goto('/console/');
    await page.getByText('Measuring: the first figures').waitFor();
    await page.getByRole('link', { name: 'Receivers in trouble 1' }).waitFor();
    assert.deepEqual(requested.toSorted(), [...PAGE_REQUESTS].toSorted());
    const again = page.waitForResponse(`**${POLLED_REQUEST}`);
    await page.clock.fastForward(POLL_MS / 2);
    assert.equal(requested.length, PAGE_REQUESTS.length);
    await page.clock.fastForward(POLL_MS / 2);
    assert.equal((await again).status(), 200);
    assert.deepEqual(requested.slice(PAGE_REQUESTS.length), [POLLED_REQUEST]);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test('a support agent resends a callback that was not delivered', async () => {
    const { page, problems } = await openPage(browser, service, 'support');
    await page.goto('/console/callbacks?state=pending');
    // What the receiver answered last.
    await page.getByText('HTTP 500', { exact: true }).first().waitFor();
    await page
      .getByRole('button', { name: /^Send again/ })
      .first()
      .click();
    await page.getByRole('textbox', { name: /Why/ }).fill('The receiver is repaired');
    const answered = page.waitForResponse(/\/resend$/);
    await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
    assert.equal((await answered).status(), 200);
    await page.getByText(/→ http.* · Failed: HTTP 500$/).waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test('a viewer sees no action and no whole account number, and the service refuses both', async () => {
    const { page, problems } = await openPage(browser, service, 'viewer');
    // As the service in its staging form says it (test/docs/production-guide.test.ts).
    await page.route('**/operator/v1/console', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replace('"sandbox"', '"staging"') });
    });
    await page.goto(`/console/transactions/${LOST.id}`);
    await page.getByText(LOST.masked).waitFor();
    await page.locator('header').getByText('Staging', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Ask the bank|Show account|Send again|End/ }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
    const refused = await page.evaluate<{ message: string }>(
      `fetch('/operator/v1/session').then((answer) => answer.json()).then(({ data }) =>
        fetch('/operator/v1/transactions/${LOST.id}/unmask', { method: 'POST', body: '{"reason":"because"}',
          headers: { 'content-type': 'application/json', 'x-csrf-token': data.csrf_token } }))
        .then((answer) => answer.json())`,
    );
    assert.match(refused.message, /^Your role is viewer, and this needs the role support/);
    await page.goto('/console/audit');
    await page.getByText('Your role does not allow this').waitFor();
    await page.getByText(/Request ID/).waitFor();
    // The browser reports the two refusals, and nothing else.
    assert.deepEqual(
      problems.filter((problem) => !problem.includes('403')),
      [],
    );
    await page.context().close();
  });

  for (const [name, run] of Object.entries(CLIENT_CASES)) test(name, () => run({ service, receiver, browser }));

  test('a replay is counted, started, and has a page with its progress', async () => {
    const { page, problems } = await openPage(browser, service, 'engineer');
    await page.goto('/console/replays?client_id=alpha');
    await page.getByLabel('Only').selectOption('all');
    await page.getByRole('button', { name: 'Count' }).click();
    await page
      .getByText(/^With another choice: given up \d+, never sent \d+, delivered 0, being retried \d+\.$/)
      .waitFor();
    await page.getByText(/^Callbacks to send: \d+\. Events: \d+, transactions: \d+, endpoints: 1\.$/).waitFor();
    await page.getByRole('button', { name: 'Start the replay' }).click();
    await page.getByRole('textbox', { name: /Why/ }).fill('The client lost what it received');
    await page.getByRole('dialog').getByRole('button', { name: 'Start the replay' }).click();
    await page.getByText('Started.').waitFor();
    await page.getByRole('table').getByRole('link', { name: 'alpha' }).click();
    await page.getByRole('heading', { name: /^rp_/, level: 1 }).waitFor();
    await page.getByText('Completed').first().waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  // Regression: the first 200 clients were suggested, and no other one, whatever was typed.
  test('a new replay suggests the clients that have what is typed in their ID or name', async () => {
    await service.app.database.query(
      `insert into tiba.clients (client_id, name, secret_hash, scopes)
       select 'many-' || lpad(n::text, 3, '0'), 'Shop ' || n, '\\x00', '{status:read}'
         from generate_series(1, 201) as n`,
    );
    const { page, problems } = await openPage(browser, service, 'engineer');
    await page.goto('/console/replays');
    const suggested = (id: string) => page.locator(`datalist option[value="${id}"]`);
    await suggested('alpha').waitFor({ state: 'attached' });
    for (const typed of ['many-201', 'shop 201']) {
      await page.getByRole('combobox', { name: 'Client' }).fill(typed);
      await suggested('alpha').waitFor({ state: 'detached' });
      await suggested('many-201').waitFor({ state: 'attached' });
      assert.equal(await page.locator('datalist option').count(), 1);
      await page.getByRole('combobox', { name: 'Client' }).fill('');
      await suggested('alpha').waitFor({ state: 'attached' });
    }
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test('an engineer logs another person out, whose page then leads to the login', async () => {
    const engineer = await openPage(browser, service, 'engineer');
    const other = await openPage(browser, service, 'viewer');
    await other.page.goto('/console/overdue');
    await other.page.getByText(LOST.id).waitFor();
    await engineer.page.goto('/console/sessions?subject=viewer%40example.com');
    await engineer.page
      .getByRole('button', { name: /^Log out everywhere/ })
      .first()
      .click();
    await engineer.page.getByRole('textbox', { name: /Why/ }).fill('Left the team');
    await engineer.page.getByRole('dialog').getByRole('button', { name: 'Log out everywhere' }).click();
    await engineer.page.getByText('No person is logged in with this subject.').waitFor();
    await other.page.reload();
    await other.page.getByRole('link', { name: 'Log in' }).waitFor();
    assert.deepEqual(engineer.problems, []);
    await engineer.page.context().close();
    await other.page.context().close();
  });

  test('without a login there is a way to it, and back', async () => {
    const { page } = await openPage(browser, service, null);
    await page.goto('/console/callbacks?state=pending');
    const href = await page.getByRole('link', { name: 'Log in' }).getAttribute('href');
    assert.equal(href, `/operator/login?return_to=${encodeURIComponent('/console/callbacks?state=pending')}`);
    assert.deepEqual(await findBarriers(page), []);

    // Regression: while PostgreSQL was away the page said that nothing had answered, until it was loaded again.
    const headers = { 'x-request-id': 'request-4711' };
    const json = { status: 'error', message: 'The database is away', error_code: 'SERVICE_UNAVAILABLE' };
    await page.route('**/operator/v1/session', (route) => route.fulfill({ status: 503, headers, json }));
    await page.clock.install();
    await page.reload();
    await page.getByText('The database is away').waitFor();
    await page.getByText('request-4711').waitFor();
    await page.unroute('**/operator/v1/session');
    await page.clock.fastForward(POLL_MS);
    await page.getByRole('link', { name: 'Log in' }).waitFor();
    await page.context().close();
  });

  test('the request ID of an account check finds the check', async () => {
    const { page, problems } = await openPage(browser, service, 'viewer');
    const { token } = await service.addClient('checker', ['account:check']);
    const { status, headers } = await send(`${service.url}/api/v1/check-account`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ bank_code: '014', account_number: LOST.account }),
    });
    assert.equal(status, 503);
    const cells = page.getByRole('table', { name: 'Account checks' }).getByRole('cell');
    await eventually('the check is recorded', async () => {
      await page.goto(`/console/transactions?q=${headers.get('x-request-id')}`);
      await page.getByText('Loading …').waitFor({ state: 'detached' });
      return (await cells.count()) > 0;
    });
    assert.deepEqual((await cells.allTextContents()).slice(1), ['checker', 'CENAIDJA', 'No verdict', 'timeout']);
    await page.getByText('The client paid nothing to this account').waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test('the arrows go through the rows, Escape leaves the box, an address brings the state back', async () => {
    const { page, problems } = await openPage(browser, service, 'viewer', { language: 'id' });
    await page.goto('/console/transactions?q=5554443332');
    const links = page.getByRole('table').getByRole('link');
    await links.first().waitFor();
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.evaluate('document.activeElement.textContent'), await links.first().textContent());
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.evaluate('document.activeElement.textContent'), await links.nth(1).textContent());
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'BODY');
    await links.nth(1).click();
    await page.getByText('Transfer Rp150.000,00').first().waitFor();
    await page.getByRole('listitem').getByText('alpha memesan disbursement ke Bank Central Asia').waitFor();
    await page.goBack();
    await links.nth(2).waitFor();
    assert.equal(await page.evaluate('document.documentElement.lang'), 'id');
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  /** Together they have every color. */
  const DARK = new Set(['', `transactions/${LOST.id}`, 'callbacks']);
  const PAGES = [
    '',
    'transactions?q=5554443332',
    `transactions/${LOST.id}`,
    'overdue',
    'reviews',
    'callbacks',
    'replays',
    'banks',
    'banks/CENAIDJA',
    'clients',
    'clients/alpha',
    'validations',
    'enumeration',
    'audit',
    'proposals',
    'sessions',
    'processes',
    'nothing-of-the-kind',
  ];

  test('each page is whole for an engineer: no barrier, light and dark, and no scrolling aside on a phone', async () => {
    const { page, problems } = await openPage(browser, service, 'engineer');
    for (const path of PAGES) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(`/console/${path}`);
      await page.locator('main h1').waitFor();
      await eventually(`${path} is loaded`, async () => (await page.getByText('Loading …').count()) === 0);
      assert.deepEqual([path, await findBarriers(page)], [path, []]);
      if (DARK.has(path)) {
        await page.emulateMedia({ colorScheme: 'dark' });
        assert.deepEqual([path, 'dark', await findBarriers(page, ['color-contrast'])], [path, 'dark', []]);
      }
      await page.setViewportSize({ width: 375, height: 700 });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 375, path);
    }
    assert.deepEqual(problems, []);
    await page.context().close();
  });

  test('the pages weigh less than 54 kB, and come with a strict policy', async (context) => {
    const page = await send(`${service.operatorUrl}/console/overdue`, {});
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /);
    assert.doesNotMatch(policy, /unsafe|https?:|data:/);
    const assets = [...page.text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    assert.equal(assets.length, 3);
    let bytes = page.text.length;
    for (const path of assets) {
      const headers = { 'accept-encoding': 'gzip' };
      const head = await fetch(service.operatorUrl + path, { method: 'HEAD', headers });
      assert.equal(head.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      bytes += Number(head.headers.get('content-length'));
      const again = { ...headers, 'if-none-match': head.headers.get('etag') ?? '' };
      assert.equal((await fetch(service.operatorUrl + path, { headers: again })).status, 304);
    }
    context.diagnostic(`console: ${(bytes / 1_000).toFixed(1)} kB compressed; built in ${buildMs.toFixed(0)} ms`);
    assert.ok(bytes < 54_000, `${bytes} bytes`);
  });

  test('only files of the console are served', async () => {
    for (const path of ['assets/..%2f..%2fbuild.ts', 'assets/%2e%2e/%2e%2e/build.ts', 'assets/none.js', 'assets/']) {
      const answer = await send(`${service.operatorUrl}/console/${path}`, {});
      assert.notEqual(answer.status, 500, path);
      assert.doesNotMatch(answer.text, /esbuild/, path);
    }
    assert.equal((await send(`${service.operatorUrl}/console/assets/none.js`, {})).status, 404);
    assert.equal((await send(`${service.url}/console/`, {})).status, 404, 'clients have no console');
    assert.equal((await send(`${service.operatorUrl}/console/`, { method: 'POST' })).status, 405);
  });
});
