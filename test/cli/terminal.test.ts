import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sendError, startScriptedService } from '../client/scripted-service.ts';
import { createCli, inTerminal } from './cli-process.ts';

/** What a person sees at a terminal, and what a program that reads the output does not get. */

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
});
