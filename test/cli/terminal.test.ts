import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sendError, startScriptedService } from '../client/scripted-service.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { type Cli, createCli, documentsOf, inTerminal, loginOf } from './cli-process.ts';

/** What a person sees at a terminal, and what a program that reads the output does not get. */

suite('tiba list', () => {
  const COLUMNS = 80;
  const REFERENCE = 'INV/2026/11/21/0000000000001';
  let service: TestService;
  let terminal: Cli;
  let pipe: Cli;
  before(async () => {
    service = await startTestService();
    const login = loginOf(service);
    [terminal, pipe] = await Promise.all([createCli(login, inTerminal(COLUMNS)), createCli(login)]);
    await service.feed(
      statusUpdate({
        transaction_id: 'TB0000000001',
        reference_id: REFERENCE,
        status: 'FAILED',
        failure_reason: 'ACCOUNT_NOT_FOUND',
        processed_at: '2026-11-21T04:34:26.123Z',
        amount: '9007199254740993.01',
      }),
    );
  });
  after(async () => {
    await Promise.all([terminal?.remove(), pipe?.remove()]);
    await service?.close();
  });

  test('a terminal gets a table of its width, with the reference and the amount whole', async () => {
    const { code, stdout } = await terminal.run(['list']);
    assert.equal(code, 0);
    const lines = stdout.trimEnd().split('\n');
    assert.deepEqual(
      lines.filter((line) => Array.from(line).length > COLUMNS),
      [],
    );
    assert.match(lines[0] ?? '', /^STATUS +REFERENCE +AMOUNT +REASON$/);
    assert.equal(lines[1], `FAILED  ${REFERENCE}  9,007,199,254,740,993.01  ACCOUNT_NOT_FOU…`);
  });

  test('a pipe gets all columns, and --json everything, also at a terminal', async () => {
    const titles = 'STATUS REFERENCE TRANSACTION AMOUNT BANK ACCOUNT CREATED REASON';
    assert.equal((await pipe.run(['list'])).stdout.split('\n')[0]?.replaceAll(/ +/g, ' '), titles);
    const [found] = documentsOf(await terminal.run(['list', '--json']));
    assert.equal(found?.['transaction_id'], 'TB0000000001');
  });
});

suite('tiba check', () => {
  const VERDICT = {
    bank_name: 'Bank Central Asia',
    account_number: '1234567890',
    account_name: null,
    status: 'ACTIVE',
    is_valid: true,
  };

  test('says at a terminal what it waits for, and nothing of it elsewhere', async (context) => {
    let count = 0;
    const { receiver } = await startScriptedService(context, (response) => {
      count += 1;
      if (count % 2 === 1) {
        sendError(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '1' });
        return;
      }
      const body = JSON.stringify({ success: true, message: 'Checked', data: VERDICT, meta: {} });
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    const login = { TIBA_URL: receiver.url, TIBA_CLIENT_ID: 'alpha', TIBA_CLIENT_SECRET: 'secret' };
    const [terminal, pipe] = await Promise.all([createCli(login, inTerminal(60)), createCli(login)]);
    context.after(() => Promise.all([terminal.remove(), pipe.remove()]));
    const check = ['check', 'BCA', '1234567890'];

    const { code, stdout, stderr } = await terminal.run(check);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^account +Bank Central Asia \*{6}7890\nstatus +ACTIVE/);
    const shown = stderr.split('\r\u001B[K');
    assert.deepEqual(shown.slice(0, 2), ['', 'asking the bank']);
    assert.match(shown[2] ?? '', /^will retry in \d s: SERVICE_UNAVAILABLE: a message$/);
    assert.deepEqual(shown.slice(3), [''], 'the line is removed at the end');

    assert.equal((await terminal.run([...check, '--json'])).stderr, '');
    assert.equal((await pipe.run(check)).stderr, '');
    assert.equal(count, 6);
  });

  // Regression: during the repetitions of a login it said only that it was asking the bank.
  test('says that it logs in again', async (context) => {
    const { receiver } = await startScriptedService(
      context,
      (response) => {
        const body = JSON.stringify({ success: true, message: 'Checked', data: VERDICT, meta: {} });
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      },
      { failedLogins: 1 },
    );
    const login = { TIBA_URL: receiver.url, TIBA_CLIENT_ID: 'alpha', TIBA_CLIENT_SECRET: 'secret' };
    const terminal = await createCli(login, inTerminal(60));
    context.after(() => terminal.remove());
    const { code, stderr } = await terminal.run(['check', 'BCA', '1234567890']);
    assert.equal(code, 0, stderr);
    const [, first, again] = stderr.split('\r\u001B[K');
    assert.equal(first, 'asking the bank');
    assert.match(again ?? '', /^will log in again in \d s: SERVICE_UNAVAILABLE: the login is/);
  });
});
