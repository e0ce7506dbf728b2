import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, suite, type TestContext, test } from 'node:test';
import { sendError, sendTransaction, startScriptedService } from '../client/scripted-service.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
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

/** Regression: messages of the service reached the terminal with the commands in them, and could erase a verdict. */
suite('no text of the service commands the terminal', () => {
  /** Sets the title, clears the screen and prints a verdict; by escape sequences, C1 controls and a line of its own. */
  const HOSTILE = '\u001B]0;PWNED\u0007\u001B[2J\u001B[H\u009B2J\u202E\nok: SUCCESS';
  const OBEYED = /[\p{Cc}\u202E]/u;
  const isObeyed = (text: string): boolean => text.split('\n').some((line) => OBEYED.test(line));

  async function hostileService(context: TestContext, answer: (response: ServerResponse, path: string) => void) {
    const { receiver } = await startScriptedService(context, (response, { path }) => answer(response, path));
    return terminalFor(context, receiver.url);
  }

  async function terminalFor(context: TestContext, url: string, colorDepth = 1): Promise<Cli> {
    const login = { TIBA_URL: url, TIBA_CLIENT_ID: 'alpha', TIBA_CLIENT_SECRET: 'secret' };
    const terminal = await createCli(login, inTerminal(80, colorDepth));
    context.after(() => terminal.remove());
    return terminal;
  }

  const sendJson = (response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

  const sendHostile = (response: ServerResponse, status: number, code: string): void => {
    const headers = { 'x-request-id': 'a\u009B2Jb', 'retry-after': '3600' };
    sendJson(response, status, { success: false, error_code: code, message: HOSTILE }, headers);
  };

  test('an error, its request ID, and the same as JSON, which a terminal may show too', async (context) => {
    const terminal = await hostileService(context, (response) => sendHostile(response, 404, 'TRANSACTION_NOT_FOUND'));
    const check = ['check', 'BCA', '1234567890'];
    const { code, stderr } = await terminal.run(check);
    assert.equal(code, 1);
    const [shown, ...rest] = stderr.slice(stderr.indexOf('error: ')).split('\n');
    assert.match(shown ?? '', /^error: TRANSACTION_NOT_FOUND: \uFFFD.*SUCCESS$/);
    assert.match(rest.join('\n'), /^Request ID, for the operator of the service: a\uFFFD2Jb\n$/);
    assert.ok(!isObeyed(stderr.slice(stderr.indexOf('error: '))));

    const asJson = (await terminal.run([...check, '--json'])).stderr;
    assert.ok(!isObeyed(asJson), JSON.stringify(asJson));
    const document = JSON.parse(asJson) as Record<string, unknown>;
    assert.deepEqual([document['message'], document['request_id']], [HOSTILE, 'a\u009B2Jb']);
  });

  test('why a login was refused', async (context) => {
    const { url } = await startHttpReceiver({
      context,
      respond: (response) => sendJson(response, 401, { error: 'invalid_client', error_description: HOSTILE }),
    });
    const terminal = await terminalFor(context, url);
    const { code, stderr } = await terminal.run(['list']);
    assert.equal(code, 4);
    assert.match(stderr, /^error: LOGIN_FAILED: [^\n]*SUCCESS\nLog in again with/);
    assert.ok(!isObeyed(stderr), JSON.stringify(stderr));
  });

  test('fields of a result, whatever their schema says, and only these: colors of its own stay', async (context) => {
    const { receiver } = await startScriptedService(context, (response) =>
      sendTransaction(response, { status: 'FAILED', transaction_id: HOSTILE, failure_reason: HOSTILE }),
    );
    const terminal = await terminalFor(context, receiver.url, 8);
    const { code, stdout } = await terminal.run(['status', 'INV/1']);
    assert.equal(code, 3);
    const inRed = '\u001B[31mFAILED\u001B[39m';
    assert.ok(stdout.includes(inRed), JSON.stringify(stdout));
    assert.ok(!isObeyed(stdout.replace(inRed, '')), JSON.stringify(stdout));
  });

  test('an event, and why events do not come', async (context) => {
    const event = {
      sequence: 1,
      event_id: 'evt_1',
      type: 'account_validation.ended',
      timestamp: '2026-11-21T04:34:26.123Z',
      version: 1,
      data: { validation_id: HOSTILE, state: 'COMPLETED' },
    };
    let count = 0;
    const terminal = await hostileService(context, (response) => {
      count += 1;
      const data = { events: [event], next_after: 1, has_more: true };
      if (count === 1) sendJson(response, 200, { success: true, message: '', data, meta: {} });
      else sendHostile(response, 503, 'SERVICE_UNAVAILABLE');
    });
    for (const command of [
      ['events', '--follow'],
      ['listen', '--from-start'],
    ]) {
      count = 0;
      const running = terminal.start(command);
      await running.untilPrinted('account_validation.ended');
      await running.untilNoted('not connected');
      const { stdout, stderr } = await running.end('SIGTERM');
      assert.match(stderr, /not connected: .*SUCCESS/);
      assert.ok(!isObeyed(stderr), JSON.stringify(stderr));
      assert.ok(!isObeyed(stdout), JSON.stringify(stdout));
      assert.doesNotMatch(stdout + stderr, /^ok: SUCCESS/m);
    }
  });
});
