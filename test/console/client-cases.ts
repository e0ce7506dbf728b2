import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import type { HttpReceiver } from '../support/http-receiver.ts';
import type { TestService } from '../support/service.ts';
import { findBarriers, openPage } from './console-harness.ts';

/** Pages on which clients are changed, and proposals decided. They share the browser and the service of the suite. */

interface Console {
  readonly service: TestService;
  readonly receiver: HttpReceiver;
  readonly browser: Browser;
}

export const CLIENT_CASES: Readonly<Record<string, (console: Console) => Promise<void>>> = {
  'an engineer proposes a limit, and an approver approves exactly that': async ({ browser, service }) => {
    const engineer = await openPage(browser, service, 'engineer');
    await engineer.page.goto('/console/clients/beta');
    await engineer.page.getByRole('button', { name: 'Change limits' }).click();
    await engineer.page.getByLabel('Accounts / day').fill('4321');
    await engineer.page.getByRole('textbox', { name: /Why/ }).fill('Agreed in the contract');
    await engineer.page.getByRole('dialog').getByRole('button', { name: 'Change limits' }).click();
    await engineer.page.getByRole('link', { name: /Proposed/ }).click();
    const row = ['Accounts / day', 'default', '4,321'].join('');
    const rows = engineer.page.getByRole('table').locator('tbody tr');
    await rows.waitFor();
    assert.deepEqual(await rows.allTextContents(), [row]);
    assert.deepEqual(await findBarriers(engineer.page), []);
    assert.equal(await engineer.page.getByRole('button', { name: 'Approve' }).count(), 0);

    const approver = await openPage(browser, service, 'approver', { language: 'id', width: 375 });
    await approver.page.goto(engineer.page.url());
    await approver.page.getByText('Rekening / hari').waitFor();
    await approver.page.getByText('Persisnya, sebagai JSON').click();
    await approver.page.getByText(/"accounts-per-day": 4321/).waitFor();
    assert.equal(await approver.page.evaluate('document.documentElement.scrollWidth'), 375);
    await approver.page.getByRole('button', { name: 'Setujui' }).click();
    await approver.page.getByRole('textbox', { name: /Mengapa/ }).fill('As in the contract');
    await approver.page.getByRole('dialog').getByRole('button', { name: 'Setujui' }).click();
    await approver.page.getByText('Disetujui', { exact: true }).first().waitFor();
    await approver.page.goto('/console/clients/beta');
    await approver.page.getByText('4.321').waitFor();
    assert.deepEqual([engineer.problems, approver.problems], [[], []]);
    await engineer.page.context().close();
    await approver.page.context().close();
  },

  'a new secret is shown once, and Escape does not lose it': async ({ service, browser }) => {
    const { page, problems } = await openPage(browser, service, 'engineer');
    await page.goto('/console/clients/beta');
    await page.getByRole('button', { name: 'Add a secret' }).click();
    await page.getByRole('textbox', { name: /Why/ }).fill('The client changes its secret');
    await page.getByRole('dialog').getByRole('button', { name: 'Add a secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy the secret now' });
    const secret = String(await dialog.locator('code').textContent());
    assert.match(secret, /^[A-Za-z0-9_-]{43}$/);
    // A browser lets a page refuse the first only.
    for (let count = 0; count < 3; count += 1) await page.keyboard.press('Escape');
    assert.ok(await dialog.getByText(secret).isVisible());
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page
      .getByRole('button', { name: /^Retire/ })
      .nth(1)
      .waitFor();
    assert.ok(!(await page.content()).includes(secret));

    await page.getByRole('button', { name: 'Register an endpoint' }).click();
    await page.getByLabel('URL').fill('http://127.0.0.1:9/a-path-with-a-key');
    await page.getByLabel('bank.down').check();
    await page.getByRole('textbox', { name: /Why/ }).fill('The client asks for it');
    await page.getByRole('dialog').getByRole('button', { name: 'Register an endpoint' }).click();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Disable: http://127.0.0.1:9' }).click();
    await page.getByRole('textbox', { name: /Why/ }).fill('The client asks for it');
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('An operator has disabled it.').waitFor();
    assert.ok(!(await page.content()).includes('a-path-with-a-key'));
    assert.deepEqual(problems, []);
    await page.context().close();
  },

  'a new secret outlives the session in which it was made': async ({ service, browser }) => {
    const { page } = await openPage(browser, service, 'engineer');
    await page.goto('/console/clients/gamma');
    await page.getByRole('button', { name: 'Replace all' }).click();
    await page.getByRole('textbox', { name: /Why/ }).fill('The secret has leaked');
    // The list is read again, once the secret is there.
    await page.route('**/clients/gamma/secrets', async (route) => {
      if (route.request().method() === 'GET') {
        const end = "update tiba.operator_sessions set expires_at = now() - interval '1 second' where subject = $1";
        await service.app.database.query(end, ['engineer@example.com']);
      }
      await route.continue();
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Replace all' }).click();
    await page.getByText('Operator console').waitFor();
    await page.getByText(/^[A-Za-z0-9_-]{43}$/).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.getByRole('link', { name: 'Log in' }).waitFor();
    await page.context().close();
  },

  'a dialog begins with what is true now, and sends what was changed in it': async ({ service, browser, receiver }) => {
    const { page, problems } = await openPage(browser, service, 'engineer');
    const dialog = page.getByRole('dialog');
    const sentBy = async (button: string): Promise<unknown> => {
      await dialog.getByRole('textbox', { name: /Why/ }).fill('Agreed with the client');
      const sent = page.waitForRequest((request) => request.method() === 'PATCH');
      await dialog.getByRole('button', { name: button }).click();
      const { reason: _, ...body } = (await sent).postDataJSON() as Record<string, unknown>;
      await dialog.waitFor({ state: 'detached' });
      return body;
    };
    await page.goto('/console/clients/gamma');
    await page.getByRole('button', { name: 'Change scopes' }).waitFor();
    // Another person lowers a limit and withdraws a scope.
    await service.app.database.query(
      `update tiba.clients set accounts_per_day = 777, scopes = array_remove(scopes, 'account:check')
        where client_id = 'gamma'`,
    );
    await page.getByRole('button', { name: 'Change limits' }).click();
    const perDay = dialog.getByLabel('Accounts / day');
    await eventually('the limit of now is shown', async () => (await perDay.inputValue()) === '777');
    await dialog.getByLabel('Status checks / min').fill('60');
    assert.deepEqual(await sentBy('Change limits'), { limits: { check_status_per_minute: 60 } });
    await page.getByRole('button', { name: 'Change scopes' }).click();
    await dialog.getByLabel('events:read').check();
    assert.deepEqual(await sentBy('Change scopes'), { scopes: ['status:read', 'events:read'] });

    await page.goto('/console/clients/alpha');
    const change = page.getByRole('button', { name: `Change: ${receiver.url}` });
    await change.click();
    await dialog.getByLabel('URL').fill(`${receiver.url}/other`);
    assert.deepEqual(await sentBy('Change'), { url: `${receiver.url}/other` });
    await change.click();
    assert.equal(await dialog.getByLabel('URL').inputValue(), '');
    await dialog.getByLabel('disbursement.overdue').uncheck();
    assert.deepEqual(Object.keys((await sentBy('Change')) as object), ['kinds']);
    assert.deepEqual(problems, []);
    await page.context().close();
  },

  'an error is explained in Indonesian, beside the English message of the service': async ({ service, browser }) => {
    const { page } = await openPage(browser, service, 'engineer', { language: 'id' });
    await page.goto('/console/clients');
    await page.getByRole('button', { name: 'Klien baru' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('client_id').fill('alpha');
    await dialog.getByRole('textbox', { name: /Mengapa/ }).fill('Tiket 4711: klien baru');
    await dialog.getByRole('button', { name: 'Klien baru' }).click();
    const alert = dialog.getByRole('alert');
    await alert.getByText(/^Keadaan klien tidak mengizinkan: ID sudah dipakai/).waitFor();
    assert.match(String(await alert.locator('[lang=en]').textContent()), /^This client_id is in use/);
    await page.context().close();
  },

  'clients are on pages of 50, and a client of any page has its own': async ({ service, browser }) => {
    await service.app.database.query(
      `insert into tiba.clients (client_id, name, secret_hash, scopes)
       select 'page-' || lpad(n::text, 2, '0'), 'Page ' || n, '\\x00', '{status:read}' from generate_series(1, 60) as n`,
    );
    const { page, problems } = await openPage(browser, service, 'viewer');
    await page.goto('/console/clients');
    const links = page.getByRole('table').getByRole('link');
    await links.nth(49).waitFor();
    assert.equal(await links.count(), 50);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'page-60' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Next page' }).count(), 0);
    await page.getByRole('textbox', { name: 'Part of the ID or name' }).fill(' PAGE 5');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('link', { name: 'page-05' }).waitFor();
    const fifties = Array.from({ length: 10 }, (_, n) => `page-5${n}`);
    assert.deepEqual(await links.allTextContents(), ['page-05', ...fifties]);
    await page.goto('/console/clients?q=page-60');
    await page.getByRole('link', { name: 'page-60' }).click();
    await page.getByText('Page 60').waitFor();
    assert.deepEqual(problems, []);
    await page.context().close();
    await service.app.database.query("delete from tiba.clients where client_id like 'page-%'");
  },
};
